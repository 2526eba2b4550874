/** What the text of a statement says about it. Pure. It is read only once a deadline has passed. */

/** Spaces and comments in front of a statement: tools add the name of the route there. */
const BEFORE = /^(?:\s+|--[^\n]*\n|#[^\n]*\n|\/\*[\s\S]*?\*\/)*/
/** A longer text is data, not a call that matters here. */
const READ_CHARACTERS = 2000

const ROLLS_BACK = /^(?:(?:rollback|abort)\b(?!\s+prepared)|xa\s+(?:end|rollback)\b)/i
const BEGINS = /^(?:begin|start\s+transaction|savepoint)\b/i
const CLEANS_UP =
  /^(?:commit|end|rollback|abort|prepare\s+transaction|xa\s+(?:commit|end|prepare|rollback)|release|reset|set|unlock|unlisten|discard|deallocate|close|drop\s+temporary)\b/i
const TIDIES = /^(?:reset|set(?![^;]*\bautocommit\b)|unlisten|discard|deallocate|close|drop\s+temporary)\b/i
const UNLOCKS = /\b(?:pg_advisory_unlock\w*|release_lock|release_all_locks|set_config)\s*\(/i
const WORKS_ON_DATA = /^(?:select|insert|update|delete|with|values|table|merge|replace|begin|start\s+transaction)\b/i
const KEEPS_IN_SESSION = /\b(?:pg_(?:try_)?advisory_lock\w*|get_lock|set_config)\s*\(/i

function essence(text: string): string {
  return text.slice(BEFORE.exec(text)?.[0].length ?? 0).slice(0, READ_CHARACTERS)
}

/** ROLLBACK, also to a savepoint: what a broken transaction still takes. */
export function rollsBack(text: string): boolean {
  return ROLLS_BACK.test(essence(text))
}

/**
 * It takes no time in a database that is well, and harm is done when it is cut short: so it is never cancelled. Cleanup,
 * and BEGIN: a caller whose BEGIN failed sends no ROLLBACK.
 */
export function mustFinish(text: string): boolean {
  return BEGINS.test(essence(text)) || cleansUp(text)
}

/** COMMIT, ROLLBACK and all that puts the session back in order. */
export function cleansUp(text: string): boolean {
  const statement = essence(text)
  return CLEANS_UP.test(statement) || UNLOCKS.test(statement)
}

/** Puts the session in order and leaves the transaction as it is; UNLOCK TABLES and SET autocommit would commit it. */
export function tidiesSession(text: string): boolean {
  const statement = essence(text)
  return TIDIES.test(statement) || UNLOCKS.test(statement)
}

/** May have left something in the session (a setting, a lock, a temporary table) that outlives its transaction. */
export function mayChangeSession(text: string): boolean {
  const statement = essence(text)
  return !WORKS_ON_DATA.test(statement) || KEEPS_IN_SESSION.test(statement)
}

/** Its first word, for messages. Never more: the rest may be secret. */
export function nameOf(text: string): string {
  return /^[a-z]+/i.exec(essence(text))?.[0].toUpperCase() ?? 'statement'
}
