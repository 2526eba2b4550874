/** A real browser with walking phones in it, and the service that stores their positions. */
import { after, before } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import sparticuz from '@sparticuz/chromium'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { freePort } from '../../../packages/lab/src/launch/free-port.ts'
import { type TestDatabase, testDatabase } from './postgres.ts'
import { type Service, startService } from './service.ts'

// The packaged Chromium is for Linux on x64 and arm64.
export const skip = process.platform !== 'linux'

export const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }

export interface Phone {
  readonly page: Page
  readonly context: BrowserContext
  /** Moves one step north. */
  step(): Promise<void>
}

export const launchBrowser = async (): Promise<Browser> =>
  chromium.launch({
    executablePath: await sparticuz.executablePath(),
    args: ['--no-sandbox', '--disable-gpu'],
    headless: true,
  })

/** A browser, a database and the service for all tests of a file: started before them, and ended after them. */
export class Stage {
  browser!: Browser
  database!: TestDatabase
  service!: Service
  port!: number

  constructor() {
    before(async () => {
      if (skip) return
      this.database = await testDatabase()
      this.port = await freePort()
      await this.start()
      this.browser = await launchBrowser()
    })
    after(async () => {
      if (skip) return
      await this.browser.close()
      await this.service.end()
      await this.database.end()
    })
  }

  /** Starts the service, or restarts it after it was ended. */
  async start(): Promise<void> {
    this.service = await startService(this.port, { DATABASE_URL: this.database.url })
  }

  /** Collects the errors of a page and its requests to other servers, except network errors that the tests cause. */
  complaintsOf(page: Page): string[] {
    const complaints: string[] = []
    page.on('pageerror', error => complaints.push(error.message))
    page.on('console', message => {
      if (message.type() === 'error' && !/net::|status of 503/.test(message.text())) complaints.push(message.text())
    })
    page.on('request', request => {
      if (new URL(request.url()).port !== String(this.port)) complaints.push(`asked for ${request.url()}`)
    })
    return complaints
  }

  async open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const page = await (await this.browser.newContext(options)).newPage()
    await page.goto(this.service.origin + path)
    return page
  }

  async walk(name: string, longitude: number, options: BrowserContextOptions = {}): Promise<Phone> {
    let latitude = 54
    const page = await this.open('/', {
      ...PHONE,
      ...options,
      permissions: ['geolocation'],
      geolocation: { latitude, longitude, accuracy: 5 },
    })
    const context = page.context()
    await page.getByLabel('Your name on the shore').fill(name)
    await page.getByRole('checkbox').check()
    await page.getByRole('button', { name: 'Start walking' }).click()
    return {
      page,
      context,
      async step() {
        latitude += 0.0001
        await context.setGeolocation({ latitude, longitude, accuracy: 5 })
      },
    }
  }
}

/** Reads a number on the phone's page. */
export const shown = async (page: Page, id: string): Promise<number> =>
  Number((await page.locator(`#${id}`).textContent())!.replaceAll(/\D/g, ''))

export async function deleteWalk({ page }: Phone): Promise<void> {
  await page.getByRole('button', { name: 'Delete everything I walked' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
}

export async function until(what: string, holds: () => Promise<boolean>, patienceMs = 30_000): Promise<void> {
  for (const end = Date.now() + patienceMs; Date.now() < end; await sleep(100)) if (await holds()) return
  throw new Error(`waited ${patienceMs} ms for: ${what}`)
}

/** Walks until at least `count` positions of each phone are stored. */
export async function walkUntilStored(phones: readonly Phone[], count: number): Promise<void> {
  await until(`${count} positions of each stored`, async () => {
    for (const phone of phones) await phone.step()
    const stored = await Promise.all(phones.map(({ page }) => shown(page, 'stored')))
    return stored.every(each => each >= count)
  })
}
