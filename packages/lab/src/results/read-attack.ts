/** Reads a result of `attack --json`, with one run or those of `--steps`, or says in one sentence why it cannot. */
import { readFileSync } from 'node:fs'
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import { latenciesOf, sumOf, totalOf } from '../load/added.ts'
import { KINDS, type LoadOutcome } from '../load/plan.ts'
import { isOk } from '../load/tally.ts'
import { UserError } from '../user-error.ts'
import { shortened } from '../words.ts'
import { ATTACK_VERSION, type AttackDocument, outcomeOf } from './attack-document.ts'

export type ReadResult =
  | { readonly kind: 'attack'; readonly document: AttackDocument }
  /** From `attack --steps`. */
  | { readonly kind: 'steps'; readonly documents: readonly AttackDocument[] }

/** @throws UserError that says in one sentence why it cannot be read; `name` is the user's name for it */
export function readResult(content: string, name: string): ReadResult {
  // Windows tools may write a byte order mark.
  const text = content.startsWith('\uFEFF') ? content.slice(1) : content
  const value = parseJson(text, name)
  const { steps } = (value ?? {}) as { readonly steps?: unknown }
  if (Array.isArray(steps) && steps.length > 0 && steps.every(isAttack)) {
    return { kind: 'steps', documents: steps.map((each, at) => checkAttack(each, `step ${at + 1} of ${name}`)) }
  }
  return { kind: 'attack', document: checkAttack(value, name) }
}

/** @throws UserError for truncated or invalid JSON; `name` is the user's name for it */
export function parseJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const { message } = error as Error
    const early = text.trim() === '' || /end of JSON|Unterminated|after (?:array|property)/i.test(message)
    if (early)
      throw new UserError(
        `${name} ends in the middle of its JSON: it was truncated, or is still being written; use the complete file`,
      )
    throw new UserError(`${name} is not JSON: ${shortened(message, 120)}`)
  }
}

/** True for a document of `attack`, of any version, even an invalid one. */
export function isAttack(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'attack'
}

export function checkAttack(value: unknown, name: string): AttackDocument {
  if (!isAttack(value)) throw new UserError(`${name} is not a result of meltlab attack --json`)
  const { version } = value as { readonly version?: unknown }
  if (version !== ATTACK_VERSION) {
    throw new UserError(
      `${name} has format version ${JSON.stringify(version) ?? 'none'}, but this meltlab reads version ${ATTACK_VERSION}; read it with the meltlab that wrote it, or repeat the run`,
    )
  }
  const document = value as AttackDocument
  const fault = faultOf(document) ?? brokenBooks(document)
  if (fault === undefined) return document
  throw new UserError(`${name} is damaged: ${fault}; use the file as meltlab attack --json wrote it, or repeat the run`)
}

const schema = JSON.parse(readFileSync(new URL('../../schema/attack.json', import.meta.url), 'utf8')) as object
const validate = new Ajv2020({ strictTypes: false, verbose: true }).compile(schema)

/** The deepest error by the schema, such as `seconds[3].good must be integer, got "x"`; undefined without errors. */
export function faultOf(document: unknown): string | undefined {
  if (validate(document)) return undefined
  // Of several allowed forms, the one whose error lies deepest is the nearest.
  return inWords(validate.errors!.reduce((a, b) => (depth(b) > depth(a) ? b : a)))
}

function inWords({ instancePath, propertyName, message, keyword, params, data }: ErrorObject): string {
  const place =
    instancePath
      .replace(/\/(\d+)(?=\/|$)/g, '[$1]')
      .replaceAll('/', '.')
      .replace(/^\./, '') || 'it'
  const where = propertyName === undefined ? place : `the name of ${place}.${propertyName}`
  switch (keyword) {
    case 'required':
      return `${where} ${message}`
    case 'additionalProperties':
      return `${where} must not have ${params['additionalProperty']}`
    case 'const':
      return `${where} must be ${JSON.stringify(params['allowedValue'])}, got ${shown(data)}`
    case 'enum':
      return `${where} must be one of ${params['allowedValues'].join(', ')}, got ${shown(data)}`
    default:
      return `${where} ${message}, got ${Array.isArray(data) ? `a list of ${data.length}` : shown(data)}`
  }
}

const depth = ({ instancePath }: ErrorObject): number => instancePath.split('/').length

const shown = (value: unknown): string => {
  if (typeof value === 'object' && value !== null) return 'an object'
  return shortened(JSON.stringify(value))
}

/** Finds errors that a schema cannot: sums that do not match, invalid histograms, dates or addresses. */
function brokenBooks(document: AttackDocument): string | undefined {
  const { startedAt, url, seconds, certified, certificate, why } = document
  if (!/^\d{4}-\d\d-\d\dT/.test(startedAt) || Number.isNaN(Date.parse(startedAt))) {
    return `startedAt must be a date such as 2026-11-23T10:00:00.000Z, got ${startedAt}`
  }
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return `url must be an http or https address, got ${url}`
  const astray = seconds.findIndex(({ second }, at) => second !== at)
  if (astray !== -1) return `seconds[${astray}] is of second ${seconds[astray]!.second}`
  if (certified !== (certificate.doubts.length === 0) || certificate.code !== (certificate.doubts[0] ?? 'certified')) {
    return `certified is ${certified}, its certificate says ${[certificate.code, ...certificate.doubts].join(', ')}`
  }
  if (certified !== (why.length === 0)) return `certified is ${certified}, with ${why.length} reasons why not`
  try {
    return unequal(document, outcomeOf(document))
  } catch (error) {
    return (error as Error).message
  }
}

function unequal(document: AttackDocument, outcome: LoadOutcome): string | undefined {
  const { sent, unsent, scheduled, answered, failed, good, clean, targets, journeys } = outcome
  const statuses = (which: (status: number) => boolean): number =>
    sumOf(Object.entries(answered), ([status, times]) => (which(Number(status)) ? times : 0))
  const fates = totalOf(answered) + totalOf(failed)
  const measured = latenciesOf(outcome)
  const counted = {
    ok: statuses(isOk),
    shed: statuses(status => status === 503),
    other: statuses(status => !isOk(status) && status !== 503),
    failed: totalOf(failed) - (failed.aborted ?? 0),
  }
  const ends = journeys && journeys.completed + sumOf(journeys.failedAt, n => n) + journeys.notStarted + journeys.cut
  const pairs: readonly (readonly [number, string, number, string])[] = [
    [sent + unsent, 'sent and unsent add up to', scheduled, 'scheduled is'],
    [fates, 'answers and failures add up to', sent, 'sent is'],
    ...KINDS.flatMap(kind => [
      [measured[kind].count, `histograms.${kind}.measured.count is`, counted[kind], 'the counts say'] as const,
      [clean[kind].count, `histograms.${kind}.clean.count is`, measured[kind].count, 'that of measured'] as const,
    ]),
    [Math.max(good, counted.ok), 'the greater of good and answers 2xx and 3xx is', counted.ok, 'the latter is'],
    [sumOf(outcome.seconds, each => each.scheduled), 'scheduled of all seconds is', scheduled, 'scheduled is'],
    [sumOf(outcome.seconds, each => each.good), 'good of all seconds is', good, 'good is'],
    [
      targets.length === 0 ? scheduled : sumOf(targets, each => each.scheduled),
      'scheduled of all targets is',
      scheduled,
      'scheduled is',
    ],
    [ends ?? 0, 'ends of journeys add up to', journeys?.scheduled ?? 0, 'scheduled are'],
    [document.targets.length, 'targets are', targets.length && document.plan.others.length + 1, 'the plan has'],
  ]
  const found = pairs.find(([one, , other]) => one !== other)
  return found && `${found[1]} ${found[0]}, ${found[3]} ${found[2]}`
}
