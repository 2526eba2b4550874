/** The targets of an attack: a URL, a targets file, a HAR, or a journey. All are checked before the load. */
import { readFileSync } from 'node:fs'
import type { Journey, LoadTarget, RequestHeaders } from '../load/plan.ts'
import { requestOf } from '../load/prepare.ts'
import { headersOf, knownMethod } from '../option-values.ts'
import { UserError } from '../user-error.ts'
import type { Flags } from './flags.ts'
import { parseHar } from './har.ts'
import { parseJourney } from './journey-file.ts'
import { readInput } from './read-input.ts'
import { parseTargets, TargetsError, withDefaults } from './targets-file.ts'

/** A larger file is a mistake, or a log that should be sampled. */
const MOST_TARGETS = 100_000

export interface Targets {
  readonly list: readonly [LoadTarget, ...LoadTarget[]]
  /** True if `{{seq}}` and other templates are replaced. Requests recorded by a browser are sent unchanged. */
  readonly templated: boolean
  readonly journey?: Journey
  readonly note?: string
}

/** @throws UserError that names the file and the line at fault */
export async function targetsOf(url: string | undefined, flags: Flags): Promise<Targets> {
  const { targets: file, har, journey } = flags
  const headers = headersOf(flags.header ?? [])
  if (journey !== undefined) {
    checkHeaders(headers, true)
    const { list, ...read } = parseJourney((await readInput(journey, '--journey')).toString(), journey, url, headers)
    return { list: someOf(list, journey, 'a journey has steps'), templated: true, ...read }
  }
  const sources = [url, file, har].filter(each => each !== undefined)
  if (sources.length !== 1) {
    const got = sources.length === 0 ? 'got none' : `got ${sources.join(' and ')}`
    throw new UserError(`attack needs one of a URL, --targets FILE, --har FILE and --journey FILE, ${got}.`)
  }
  if (url !== undefined) {
    const { body: given } = flags
    const body = given?.startsWith('@') ? new Uint8Array(await readInput(given.slice(1), '--body')) : given
    const method = flags.method ?? (body === undefined ? 'GET' : 'POST')
    return { list: [{ url, method, headers, body }], templated: true }
  }
  if (flags.method !== undefined || flags.body !== undefined) {
    const flag = flags.method === undefined ? '--body' : '--method'
    throw new UserError(`${flag} needs a URL: each target of ${file ?? har} has its own.`)
  }
  checkHeaders(headers, file !== undefined)
  return file === undefined ? fromHar(har!, headers) : fromFile(file, headers)
}

/** Checks the headers from --header first, so that a file is not blamed for them. */
function checkHeaders(headers: RequestHeaders, templated: boolean): void {
  try {
    requestOf({ url: 'http://localhost/', method: 'GET', headers, body: undefined }, templated)
  } catch (error) {
    throw new UserError(`--header: ${(error as Error).message}.`)
  }
}

async function fromFile(file: string, headers: RequestHeaders): Promise<Targets> {
  const text = (await readInput(file, '--targets')).toString()
  try {
    const list = parseTargets(
      text,
      body => new Uint8Array(readFileSync(body)),
      target => requestOf(target, true),
    ).map(target => ({ ...target, headers: withDefaults(target.headers, headers) }))
    return { list: someOf(list, file, 'expected lines such as GET http://127.0.0.1:3000/'), templated: true }
  } catch (error) {
    if (!(error instanceof TargetsError)) throw error
    const where = file === '-' ? 'stdin' : file
    throw new UserError(`${where}, ${error.message.replace(/\.$/, '')}.`)
  }
}

async function fromHar(file: string, headers: RequestHeaders): Promise<Targets> {
  const text = (await readInput(file, '--har')).toString()
  try {
    const { targets, skipped } = parseHar(text)
    const list = targets.map(({ entry, ...target }) => {
      try {
        const whole = { ...target, method: knownMethod(target.method), headers: withDefaults(target.headers, headers) }
        requestOf(whole, false)
        return whole
      } catch (error) {
        throw new UserError(`--har ${file}, entry ${entry} (${target.url}) cannot be sent: ${inOneLine(error)}.`)
      }
    })
    const note =
      skipped === 0
        ? {}
        : { note: `${skipped} of ${skipped + list.length} entries of ${file} are not HTTP requests and are skipped` }
    return { list: someOf(list, file, 'no entry is an HTTP request'), templated: false, ...note }
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError(`--har ${file} is not a valid HAR: ${inOneLine(error)}.`)
  }
}

const inOneLine = (error: unknown): string => (error as Error).message.replace(/\.$/, '').replaceAll('\n', ' ')

function someOf(list: readonly LoadTarget[], file: string, why: string): Targets['list'] {
  const [first, ...others] = list
  if (first === undefined) throw new UserError(`${file} contains no target: ${why}.`)
  if (list.length > MOST_TARGETS)
    throw new UserError(`${file} contains ${list.length} targets: at most ${MOST_TARGETS} are allowed.`)
  return [first, ...others]
}
