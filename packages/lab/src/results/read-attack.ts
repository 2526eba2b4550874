/** Reads the document of a load run back, and says in one sentence why it can not. Pure but for the schema's file. */
import { readFileSync } from 'node:fs'
import { UserError } from '../user-error.ts'
import { ATTACK_VERSION, type AttackDocument, outcomeOf } from './attack-document.ts'
import { faultOf, type Schema } from './schema-check.ts'

const schema = JSON.parse(readFileSync(new URL('../../schema/attack.json', import.meta.url), 'utf8')) as Schema

/** @throws UserError for JSON that ends too early or is none; `name` is how the user named it */
export function parseJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const { message } = error as Error
    const early = text.trim() === '' || /end of JSON|Unterminated|after (?:array|property)/i.test(message)
    if (early) throw new UserError(`${name} ends in the middle of its JSON: it was cut off, or is still being written`)
    throw new UserError(`${name} is not JSON: ${message.slice(0, 120)}`)
  }
}

/** A document of ours, whatever its version and its faults. */
export function isAttack(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'attack'
}

/** @throws UserError that says what is wrong with it */
export function checkAttack(value: unknown, name: string): AttackDocument {
  if (!isAttack(value)) throw new UserError(`${name} is not a result of meltlab attack --json`)
  const { version } = value as { readonly version?: unknown }
  if (version !== ATTACK_VERSION) {
    throw new UserError(
      `${name} is a result of form ${JSON.stringify(version)}, this meltlab reads form ${ATTACK_VERSION}; read it with the meltlab that wrote it`,
    )
  }
  const fault = faultOf(value, schema)
  if (fault !== undefined) throw new UserError(`${name} is damaged: ${fault}`)
  const document = value as AttackDocument
  const broken = brokenBooks(document)
  if (broken !== undefined) throw new UserError(`${name} is damaged: ${broken}`)
  return document
}

/** What a schema can not say: counts that do not add up, a histogram that is none, no date, no address. */
function brokenBooks(document: AttackDocument): string | undefined {
  if (Number.isNaN(Date.parse(document.startedAt))) return `startedAt must be a date, got ${document.startedAt}`
  if (!URL.canParse(document.url)) return `url must be one, got ${document.url}`
  const astray = document.seconds.findIndex(({ second }, at) => second !== at)
  if (astray !== -1) return `seconds[${astray}] is of second ${document.seconds[astray]!.second}`
  try {
    const { sent, unsent, scheduled, answered, failed } = outcomeOf(document)
    const fates = [...Object.values(answered), ...Object.values(failed)].reduce((sum, times) => sum + times, 0)
    if (sent + unsent !== scheduled) return `sent and unsent add up to ${sent + unsent}, scheduled is ${scheduled}`
    return fates === sent ? undefined : `answers and failures add up to ${fates}, sent is ${sent}`
  } catch (error) {
    return (error as Error).message
  }
}
