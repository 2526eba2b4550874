/** Classifies SQL statements by their text. Pure. Used only once a deadline has passed. */

/** Spaces and comments before a statement, where tools put the name of the route. */
const BEFORE = /^(?:\s+|--[^\n]*\n|#[^\n]*\n|\/\*[\s\S]*?\*\/)*/
/** Only this many characters of a text are examined, because a longer text contains data. */
const READ_CHARACTERS = 2000

const ROLLS_BACK = /^(?:(?:rollback|abort)\b(?!\s+prepared)|xa\s+(?:end|rollback)\b)/i
const BEGINS = /^(?:begin|start\s+transaction|savepoint)\b/i
const CLEANS_UP =
  /^(?:commit|end|rollback|abort|prepare\s+transaction|xa\s+(?:commit|end|prepare|rollback)|release|reset|set|unlock|unlisten|discard|deallocate|close|drop\s+temporary)\b/i
const TIDIES = /^(?:reset|set(?![^;]*\bautocommit\b)|unlisten|discard|deallocate|close|drop\s+temporary)\b/i
const UNLOCKS = /\b(?:pg_advisory_unlock\w*|release_lock|release_all_locks|set_config)\s*\(/i
const WORKS_ON_DATA = /^(?:select|insert|update|delete|with|values|table|merge|replace|begin|start\s+transaction)\b/i
const SETS = /\bset_config\s*\(/i
const LOCKS = /\b(?:pg_(?:try_)?advisory_lock\w*|get_lock)\s*\(/i

function essence(text: string): string {
  return text.slice(BEFORE.exec(text)?.[0].length ?? 0).slice(0, READ_CHARACTERS)
}

/** ROLLBACK, also to a savepoint, and its equivalents. A broken transaction accepts them. */
export function rollsBack(text: string): boolean {
  return ROLLS_BACK.test(essence(text))
}

/**
 * Statements that are fast in a healthy database, and harmful to interrupt, so they are never cancelled: cleanup, and
 * BEGIN, because a caller whose BEGIN failed sends no ROLLBACK.
 */
export function mustFinish(text: string): boolean {
  return BEGINS.test(essence(text)) || cleansUp(text)
}

/** COMMIT, ROLLBACK and all statements that restore the session. */
export function cleansUp(text: string): boolean {
  const statement = essence(text)
  return CLEANS_UP.test(statement) || UNLOCKS.test(statement)
}

/** True if the statement only restores the session. UNLOCK TABLES and SET autocommit do not: they also commit. */
export function tidiesSession(text: string): boolean {
  const statement = essence(text)
  return TIDIES.test(statement) || UNLOCKS.test(statement)
}

/**
 * True if the statement may leave something (a setting, a lock, a table) in the session after its transaction. A
 * statement that failed may have taken a lock before.
 */
export function mayChangeSession(text: string, failed = false): boolean {
  const statement = essence(text)
  return LOCKS.test(statement) || (!failed && (!WORKS_ON_DATA.test(statement) || SETS.test(statement)))
}

/** The first word of a statement, for messages. The rest may be secret. */
export function nameOf(text: string): string {
  return /^[a-z]+/i.exec(essence(text))?.[0].toUpperCase() ?? 'statement'
}
