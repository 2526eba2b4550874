/** Regression tests for the pages: one fault for each test. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import decodeQR from 'qr/decode.js'
import { startService } from './service.ts'
import { deleteWalk, PHONE, Stage, shown, skip, until, walkUntilStored } from './stage.ts'

const stage = new Stage()
const SMALL = { ...PHONE, viewport: { width: 320, height: 568 } }

/** Sends positions like a phone, without a browser. */
async function send(name: string, ages: readonly number[]): Promise<void> {
  const sentAt = Date.now()
  const answer = await fetch(`${stage.service.origin}/api/positions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${randomBytes(24).toString('base64url')}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name,
      sentAt,
      positions: ages.map((age, index) => ({ seq: index + 1, at: sentAt - age, lat: 54, lon: 8.001, accuracy: 5 })),
    }),
  })
  assert.equal(answer.status, 200)
}

/** Returns visible elements and controls that extend beyond the screen or their dialog. */
const sticksOut = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('button, select, input, output, h1, h2, p, td, th, dd, dt, strong, img')]
    .filter(each => each.checkVisibility() && !each.closest('.unseen') && !each.matches('.unseen'))
    .flatMap(each => {
      const box = each.getBoundingClientRect()
      const room = (each.closest('dialog') ?? document.documentElement).getBoundingClientRect()
      const inside = box.left >= room.left && box.right <= room.right + 0.5 && box.bottom <= innerHeight + (each.closest('dialog') ? 1e6 : 0.5)
      return inside && each.scrollWidth <= each.clientWidth + 1 || inside && each.clientWidth === 0 ? [] : [each.outerHTML.slice(0, 80)]
    })`)

test('a silent walker is not counted, and a rate of one is "1 position"', {
  skip,
  timeout: 60_000,
}, async () => {
  const page = await stage.open('/shore')
  await page.locator('#empty').waitFor()
  await page.evaluate(`{
    window.said = []
    new MutationObserver(() => said.push(rate.textContent + ' ' + document.getElementById('rate-what').textContent))
      .observe(rate, { childList: true, characterData: true, subtree: true })
  }`)
  await send('Gone', [60_000])
  await until('the silent walker is shown as silent', async () =>
    /1 silent/.test((await page.locator('#count-what').textContent())!),
  )
  assert.equal(await page.locator('#count').textContent(), '0')
  assert.equal(await page.locator('#empty').isVisible(), true, 'no walker walks')
  await until('a second with one position', async () =>
    (await page.evaluate<string[]>('said')).some(each => each.startsWith('1 ')),
  )
  assert.ok(
    (await page.evaluate<string[]>('said')).includes('1 position a second'),
    String(await page.evaluate('said')),
  )
  await page.context().close()
})

test('the replay, its clock and the list fit 320 px', { skip, timeout: 60_000 }, async () => {
  await send('Maximiliane of the Shore', [60_000_000, 5_000_000, 60_000, 1000])
  const page = await stage.open('/shore', SMALL)
  await page.getByRole('button', { name: 'Replay' }).click()
  await page.locator('#span').selectOption('604800000')
  await until('the clock shows a day', async () =>
    /^[A-Z][a-z]{2} /.test((await page.locator('#when').textContent()) ?? ''),
  )
  assert.deepEqual(await sticksOut(page), [])
  await page.getByRole('button', { name: 'List' }).click()
  await page.locator('#rows td').first().waitFor()
  assert.deepEqual(await sticksOut(page), [])
  // A number that is broken across lines cannot be read.
  const lines = await page.evaluate<number[]>(`[...document.querySelectorAll('#rows td:last-child')].map(cell => {
    const range = document.createRange()
    range.selectNodeContents(cell)
    return range.getClientRects().length
  })`)
  assert.ok(
    lines.every(count => count <= 2),
    `lines of a position: ${lines}`,
  )
  await page.context().close()
})

test('watching the shore and coming back does not end the walk', { skip, timeout: 60_000 }, async () => {
  const fay = await stage.walk('Fay', 8.012)
  await walkUntilStored([fay], 2)
  const { page } = fay
  await page.getByRole('link', { name: 'Watch the shore' }).click()
  const shore = page.frameLocator('iframe[title="The shore"]')
  await shore.locator('#sea').waitFor()
  const before = await shown(page, 'stored')
  await walkUntilStored([fay], before + 2)
  await until('the shore shows her', async () => Number(await shore.locator('#count').textContent()) > 0)
  await page.goBack()
  await page.getByRole('button', { name: 'Stop' }).waitFor()
  assert.equal(await page.locator('iframe[title="The shore"]').count(), 0, 'a hidden shore is not watched')
  await page.getByRole('link', { name: 'Watch the shore' }).click()
  await page.getByRole('button', { name: 'Back to your walk' }).click()
  await page.getByRole('button', { name: 'Stop' }).waitFor()
  await walkUntilStored([fay], (await shown(page, 'stored')) + 2)
  await fay.context.close()
})

test('consent and name are removed with the data', { skip, timeout: 60_000 }, async () => {
  const hana = await stage.walk('Hana', 8.014)
  await walkUntilStored([hana], 1)
  await hana.page.getByRole('button', { name: 'Stop' }).click()
  await deleteWalk(hana)
  await hana.page.getByText('Your walk is deleted').waitFor()
  assert.equal(await hana.page.getByRole('checkbox').isChecked(), false)
  assert.equal(await hana.page.getByLabel('Your name on the shore').inputValue(), '')
  await hana.page.getByRole('button', { name: 'Start walking' }).click()
  assert.match((await hana.page.getByRole('alert').textContent())!, /agree first/)
  await hana.context.close()
})

test('an empty shore offers simulated walkers, and each dot names its walker', { skip, timeout: 60_000 }, async () => {
  await stage.database.query('DELETE FROM positions')
  await stage.service.end('SIGKILL')
  await stage.start()
  const page = await stage.open('/shore', { viewport: { width: 1280, height: 720 } })
  const complaints = stage.complaintsOf(page)
  await page.getByRole('button', { name: 'Let 100 simulated walkers walk' }).click()
  await until('the simulated walkers walk', async () => (await page.locator('#count').textContent()) === '100')
  assert.equal(await page.locator('#empty').isVisible(), false)
  await page.getByRole('button', { name: 'List' }).click()
  await page.getByRole('button', { name: 'Kai (sim)' }).click()
  assert.equal(await page.locator('#named').textContent(), 'Kai (sim)')
  // The map has moved so that Kai is in its middle. A click there selects him, or a walker closer to the pointer.
  let y = 300
  // One of the hundred walkers may be there at this moment.
  await until('there is no walker in the sea', async () => {
    y += 10
    await page.locator('#sea').click({ position: { x: 20, y } })
    return !(await page.locator('#named').isVisible())
  })
  await page.locator('#sea').click({ position: { x: 640, y: 360 } })
  assert.match((await page.locator('#named').textContent())!, / \(sim\)$/)
  await page.getByRole('button', { name: 'Send the simulated walkers home' }).click()
  await until('the simulated walkers are gone', async () => page.locator('#empty').isVisible())
  assert.deepEqual(complaints, [])
  await page.context().close()
})

test('the QR code contains the address for phones', { skip, timeout: 60_000 }, async () => {
  await stage.service.end()
  stage.service = await startService(stage.port, { DATABASE_URL: stage.database.url, HOST: '0.0.0.0' })
  const page = await stage.open('/shore', { viewport: { width: 1280, height: 720 } })
  const { join } = (await (await fetch(`${stage.service.origin}/api/about`)).json()) as { join: string | null }
  if (join === null) return assert.equal(await page.locator('.empty .qr').isVisible(), false, 'no network, no phones')
  await page.locator('.empty .qr').waitFor()
  // One digit per pixel: with four numbers per pixel, the transfer takes a minute on a busy machine.
  const dark = await page.evaluate<string>(`(async () => {
    const image = document.querySelector('.empty .qr')
    await image.decode()
    const canvas = Object.assign(document.createElement('canvas'), { width: 400, height: 400 })
    const ink = canvas.getContext('2d')
    ink.fillStyle = '#fff'
    ink.fillRect(0, 0, 400, 400)
    ink.drawImage(image, 0, 0, 400, 400)
    return ink.getImageData(0, 0, 400, 400).data.reduce((dark, red, at) => at % 4 ? dark : dark + (red < 128 ? 1 : 0), '')
  })()`)
  const data = Uint8Array.from([...dark].flatMap(digit => (digit === '1' ? [0, 0, 0, 255] : [255, 255, 255, 255])))
  assert.equal(decodeQR({ width: 400, height: 400, data }), join)
  await page.context().close()
})
