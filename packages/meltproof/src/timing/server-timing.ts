/** Reads a peer's W3C Server Timing, which may be malformed, huge or wrong. Pure, linear in length, never throws. */

export const MOST_HEADER = 4096
const MOST_ENTRIES = 64
const MOST_DURATION_MS = 86_400_000

/**
 * The duration that the peer claims, ms: the entry `total` if there is one, otherwise the longest entry. Never their
 * sum: entries nest and overlap.
 */
export function claimedMs(header: string | undefined): number | undefined {
  if (header === undefined || header.length > MOST_HEADER) return undefined
  let longest: number | undefined
  for (const entry of split(header, ',').slice(0, MOST_ENTRIES)) {
    const [name, ...parameters] = split(entry, ';')
    const durationMs = durationOf(parameters)
    if (durationMs === undefined) continue
    if (name!.trim().toLowerCase() === 'total') return durationMs
    if (longest === undefined || durationMs > longest) longest = durationMs
  }
  return longest
}

const DURATION = /^\s*dur\s*=\s*("?)(\d{1,12}(?:\.\d*)?)\1\s*$/i

/** The first `dur` counts, as specified; if it is not a duration, the entry is ignored. */
function durationOf(parameters: readonly string[]): number | undefined {
  const first = parameters.find(parameter => /^\s*dur\s*=/i.test(parameter)) ?? ''
  const value = Number(DURATION.exec(first)?.[2])
  return value <= MOST_DURATION_MS ? value : undefined
}

function split(text: string, separator: string): string[] {
  const parts: string[] = []
  let start = 0
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (quoted && character === '\\') i++
    else if (character === '"') quoted = !quoted
    else if (character === separator && !quoted) {
      parts.push(text.slice(start, i))
      start = i + 1
    }
  }
  parts.push(text.slice(start))
  return parts
}

export function serverTimingHeader(totalMs: number, queuedMs: number, stalledMs: number): string {
  return `total;dur=${fixed(totalMs)}, queue;dur=${fixed(queuedMs)}, loop;dur=${fixed(stalledMs)}`
}

function fixed(ms: number): string {
  return Math.max(0, ms).toFixed(1)
}
