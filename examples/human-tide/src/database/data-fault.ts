/** Recognises errors of the data itself, with which the same request would fail again. Pure. */
import { Refusal } from '../refusal.ts'

/**
 * Whether PostgreSQL refused the data: SQLSTATE class 22 (data exception: out of range, not of this encoding) or 23
 * (integrity constraint violation). https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
export const isDataFault = (error: unknown): boolean => /^2[23]/.test(sqlState(error))

/** character_not_in_repertoire, untranslatable_character: a database that is not in UTF-8 cannot store every name. */
const NOT_OF_THIS_ENCODING = ['22021', '22P05']

/** The refusal of the report with the bad data. Validation should have found the fault before, so it is logged. */
export function dataRefusal(error: unknown): Refusal {
  const state = sqlState(error)
  // The message is not logged: it repeats the value, and positions of people do not belong in a log.
  console.error(`human-tide: a report was refused, the database can not store what it says (SQLSTATE ${state})`)
  if (NOT_OF_THIS_ENCODING.includes(state)) {
    return new Refusal(400, 'bad-name', 'This name has characters that can not be stored here; please choose another')
  }
  return new Refusal(400, 'not-storable', 'Something in this report can not be stored; nothing of it was')
}

function sqlState(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : ''
}
