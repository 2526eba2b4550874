/** What a run of the suite has skipped, and what would run it. Pure. */

export class SkippedTests {
  readonly #counts = new Map<string, number>()

  /** `skip` of a test that passed: its reason, true for one without, undefined where nothing was skipped. */
  add(skip: string | boolean | undefined): void {
    if (skip === undefined || skip === false) return
    const reason = typeof skip === 'string' && skip !== '' ? skip : 'not for this system'
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1)
  }

  /** Those skipped most first; undefined when all ran. */
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
