/** Counts the tests that a run of the suite has skipped, by the reason. Pure. */

export class SkippedTests {
  readonly #counts = new Map<string, number>()

  /** `skip` of a passed test: its reason, true for a skip without a reason, or undefined if it was not skipped. */
  add(skip: string | boolean | undefined): void {
    if (skip === undefined || skip === false) return
    const reason = typeof skip === 'string' && skip !== '' ? skip : 'not for this system'
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1)
  }

  /** The reasons, the most frequent first; undefined when all tests ran. */
  notice(): string | undefined {
    if (this.#counts.size === 0) return undefined
    const byCount = [...this.#counts].sort(([, one], [, other]) => other - one)
    const total = byCount.reduce((sum, [, count]) => sum + count, 0)
    return [
      `\nSKIPPED ${total} (each a test or a group of tests; CONTRIBUTING.md says what .ci/run installs):`,
      ...byCount.map(([reason, count]) => `${String(count).padStart(6)}  ${reason}`),
    ].join('\n')
  }
}
