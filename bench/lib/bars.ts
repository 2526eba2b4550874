/** Prints the bars that a benchmark missed, and sets exit code 3 if there are any. */
export function printMissedBars(missed: readonly string[]): void {
  for (const each of missed) console.log(`missed: ${each}`)
  if (missed.length === 0) console.log('all bars were met')
  else process.exitCode = 3
}
