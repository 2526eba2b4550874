/** Finds the name that a user meant. Pure. */

/** The candidate with the fewest edits, if few enough for a typing error; otherwise undefined. */
export function nearestName(typed: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined
  let fewest = Math.max(2, Math.floor(typed.length / 3)) + 1
  for (const candidate of candidates) {
    const edits = candidate.startsWith(typed) && typed.length > 1 ? 1 : distance(typed.toLowerCase(), candidate)
    if (edits < fewest) {
      fewest = edits
      best = candidate
    }
  }
  return best
}

/** Levenshtein distance: insertions, deletions and replacements. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replace = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replace, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}
