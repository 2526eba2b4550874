/**
 * Two phones walk and a third person watches, in a real browser. The service is killed and restarted: nothing is lost.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { deleteWalk, PHONE, type Phone, Stage, shown, skip, until, walkUntilStored } from './stage.ts'

const stage = new Stage()

const rows = () =>
  stage.database.query(`
    SELECT name, count(*)::int AS count, min(seq)::int AS first, max(seq)::int AS last, count(DISTINCT lat)::int AS places
    FROM positions JOIN walkers ON walkers.id = walker GROUP BY name ORDER BY name`)

test('without consent nothing is sent, and the page says why', { skip }, async () => {
  const context = await stage.browser.newContext({
    ...PHONE,
    permissions: ['geolocation'],
    geolocation: { latitude: 1, longitude: 1 },
  })
  const page = await context.newPage()
  await page.goto(stage.service.origin)
  await page.getByRole('button', { name: 'Start walking' }).click()
  assert.equal(await page.getByRole('alert').textContent(), 'Please agree first, or just watch the shore.')
  assert.equal(await page.locator('#consent').evaluate(element => element.matches(':focus')), true)
  assert.equal(await page.locator('#keep').textContent(), '30 days')
  assert.equal(await page.locator('#walking').isVisible(), false)
  await context.close()
  assert.deepEqual(await rows(), [])
})

test('two phones walk and the shore shows them; nothing is lost when the service is killed or the signal is lost', {
  skip,
  timeout: 150_000,
}, async () => {
  const markup = '<b>Bo</b>'
  const watching = await (await stage.browser.newContext({ viewport: { width: 1280, height: 720 } })).newPage()
  const complaints = stage.complaintsOf(watching)
  await watching.goto(`${stage.service.origin}/shore`)
  await watching.locator('#empty').waitFor()

  const phones = [await stage.walk('Ada', 8), await stage.walk(markup, 8.002)]
  const said = phones.map(({ page }) => stage.complaintsOf(page))
  await walkUntilStored(phones, 3)
  await until('two walkers on the shore', async () => (await watching.locator('#count').textContent()) === '2')
  assert.equal(await watching.getByRole('img').getAttribute('aria-label'), 'Map of the shoreline with 2 walkers')
  // The list has the walkers of the map, and a name is shown as text even if it looks like markup.
  await watching.getByRole('button', { name: 'List' }).click()
  const names = await watching.locator('#rows tr td:first-child').allTextContents()
  assert.deepEqual(names.sort(), [markup, 'Ada'])
  assert.equal(await watching.locator('#rows b').count(), 0)
  await watching.getByRole('button', { name: 'Close', exact: true }).click()

  await stage.service.end('SIGKILL')
  await until('positions wait on the phones', async () => {
    for (const phone of phones) await phone.step()
    const waiting = await Promise.all(phones.map(({ page }) => shown(page, 'waiting')))
    return waiting.every(each => each >= 3)
  })
  assert.match((await phones[0]!.page.getByRole('status').textContent())!, /No signal/)
  assert.match((await watching.locator('#live').textContent())!, /connection lost/)
  await stage.start()
  await walkUntilStored(phones, 9)
  await until('the shore is live again', async () => (await watching.locator('#live').textContent()) === 'live')

  // One phone loses its signal, and its page is reloaded meanwhile.
  const [ada] = phones as [Phone, Phone]
  await ada.page.evaluate('navigator.serviceWorker.ready.then(() => true)')
  await ada.context.setOffline(true)
  await until('Ada keeps her positions', async () => {
    await ada.step()
    return (await shown(ada.page, 'waiting')) >= 3
  })
  const kept = await shown(ada.page, 'waiting')
  await ada.page.reload()
  await until('the positions are still there', async () => (await shown(ada.page, 'waiting')) >= kept)
  await ada.context.setOffline(false)
  await until('the positions are sent by themselves', async () => (await shown(ada.page, 'waiting')) === 0)

  const [, bo] = phones as [Phone, Phone]
  await bo.page.getByRole('button', { name: 'Stop' }).click()
  await until('everything is sent', async () => (await shown(bo.page, 'waiting')) === 0)
  const walked = await rows()
  assert.equal(walked.length, 2)
  for (const { name, count, first, last, places } of walked) {
    const phone = name === 'Ada' ? ada : bo
    assert.equal(count, await shown(phone.page, 'stored'), 'the phone shows the number in the database')
    assert.deepEqual([first, last], [1, count], 'no number is missing or repeated')
    assert.ok(Number(places) > 3, 'the walker moved')
  }

  await watching.getByRole('button', { name: 'Replay' }).click()
  await until('the replay runs', async () => (await watching.locator('#count').textContent()) === '2')
  await watching.getByRole('button', { name: 'Pause' }).click()
  await watching.getByRole('button', { name: 'Play', exact: true }).waitFor()
  assert.deepEqual([complaints, ...said], [[], [], []])
})

test('an invalid name is rejected before the walk, and one that the server refuses can be corrected during it', {
  skip,
  timeout: 60_000,
}, async () => {
  const gus = await stage.walk('\u202esuG', 8.01, { serviceWorkers: 'block' })
  const { page } = gus
  assert.match((await page.getByRole('alert').textContent())!, /can not be shown/)
  assert.equal(await page.locator('#name').evaluate(element => element.matches(':focus')), true)
  assert.equal(await page.locator('#walking').isVisible(), false)

  // The server has a stricter rule than the page, as if it had changed after the page was loaded.
  await page.route('**/api/positions', async route => {
    if (route.request().postDataJSON().name !== 'Gus') return route.continue()
    const body = JSON.stringify({ status: 400, code: 'bad-name', title: 'Gus is taken' })
    return route.fulfill({ status: 400, contentType: 'application/problem+json', body })
  })
  await page.getByLabel('Your name on the shore').fill('Gus')
  await page.getByRole('button', { name: 'Start walking' }).click()
  const newName = page.getByLabel('Another name, please')
  await until('the page asks for another name', async () => {
    await gus.step()
    return newName.isVisible()
  })
  assert.equal(await page.getByRole('alert').textContent(), 'Gus is taken')
  await newName.fill('👩‍🦰 گاس')
  await page.getByRole('button', { name: 'Use this name' }).click()
  await walkUntilStored([gus], 3)
  assert.equal(await newName.isVisible(), false)
  const walked = (await rows()).find(({ name }) => name === '👩‍🦰 گاس')
  assert.equal(walked?.['first'], 1, 'the earlier positions are stored, too')
  await gus.context.close()
})

test('a walk is deleted on request, on the phone and on the server', { skip, timeout: 60_000 }, async () => {
  const cleo = await stage.walk('Cleo', 8.004)
  await walkUntilStored([cleo], 2)
  await cleo.page.getByRole('button', { name: 'Stop' }).click()
  await deleteWalk(cleo)
  await cleo.page.getByText('Your walk is deleted').waitFor()
  assert.ok(!(await rows()).some(({ name }) => name === 'Cleo'))
})

test('a deletion also covers a report under way, and is kept until there is a signal', {
  skip,
  timeout: 60_000,
}, async () => {
  const dina = await stage.walk('Dina', 8.006, { serviceWorkers: 'block' })
  await walkUntilStored([dina], 2)
  // From here on reports reach the server late, as over a slow network.
  let late = 0
  await dina.page.route('**/api/positions', async route => {
    late++
    await sleep(1500)
    await route.continue()
  })
  await until('a report is under way', async () => {
    await dina.step()
    return late > 0
  })
  await dina.page.getByRole('button', { name: 'Stop' }).click()
  await dina.page.route('**/api/walker', route => route.abort())
  await deleteWalk(dina)
  await dina.page.getByText('Not deleted yet').waitFor()
  const sent = late
  await dina.page.reload()
  await dina.page.getByText('Not deleted yet').waitFor()
  await sleep(1500)
  assert.equal(late, sent, 'nothing is sent after the walker asked for deletion')
  await dina.page.unroute('**/api/walker')
  await deleteWalk(dina)
  await dina.page.getByText('Your walk is deleted').waitFor()
  await sleep(2000)
  assert.ok(!(await rows()).some(({ name }) => name === 'Dina'))
  await dina.context.close()
})

test('after a deletion in one tab, the walk in another tab gets a new id, and can be deleted, too', {
  skip,
  timeout: 60_000,
}, async () => {
  const emil = await stage.walk('Emil', 8.008)
  await walkUntilStored([emil], 2)
  const before = (await stage.database.query(`SELECT id FROM walkers WHERE name = 'Emil'`))[0]?.['id']
  const page = await emil.context.newPage()
  await page.goto(stage.service.origin)
  await deleteWalk({ ...emil, page })
  await page.getByText('Your walk is deleted').waitFor()
  await walkUntilStored([emil], (await shown(emil.page, 'stored')) + 2)
  assert.deepEqual(await stage.database.query('SELECT 1 FROM positions WHERE walker = $1', [before]), [])
  await emil.page.getByRole('button', { name: 'Stop' }).click()
  await deleteWalk(emil)
  await emil.page.getByText('Your walk is deleted').waitFor()
  assert.ok(!(await rows()).some(({ name }) => name === 'Emil'))
  await emil.context.close()
})

test('both pages fit a small phone, in light and dark mode', { skip }, async () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const path of ['/', '/shore']) {
      const context = await stage.browser.newContext({ ...PHONE, viewport: { width: 320, height: 568 }, colorScheme })
      const page = await context.newPage()
      await page.goto(stage.service.origin + path)
      assert.ok(
        await page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth'),
        `${path} in ${colorScheme}`,
      )
      const small = await page.evaluate<
        string[]
      >(`[...document.querySelectorAll('button, select, a, input:not([type=checkbox])')]
        .filter(each => each.offsetParent !== null && each.getBoundingClientRect().height < 44).map(each => each.id || each.outerHTML)`)
      assert.deepEqual(small, [], 'a finger needs 44 px')
      await context.close()
    }
  }
})
