/**
 * Scrapes the metrics of servers under fuzz all the time, alone and joined as those of a cluster's workers, and says what
 * Prometheus could not read. Every other second nobody measures, so that the paths without an observer are fuzzed too.
 */
import { figuresOf, joined } from '../src/observe/joined-families.ts'
import { type MeasuredFamilies, measuredFamilies } from '../src/observe/measured-families.ts'
import type { GuardLike } from '../src/observe/metrics.ts'
import { checkObserveOptions } from '../src/observe/options.ts'
import { openMetricsText, prometheusText } from '../src/observe/scrape.ts'
import { wrongWith } from '../test/observe/exposition.ts'

const EVERY_MS = 100
const SCRAPES_BEFORE_A_REST = 10

/** @param spoil changes a scrape's text before it is checked, to see that the check works */
export function startScrapes(
  guards: readonly GuardLike[],
  trouble: (text: string) => void,
  spoil: (text: string) => string = text => text,
): void {
  const options = checkObserveOptions('fuzz', guards[0]!, {})
  let measured: MeasuredFamilies[] = []
  let turns = 0
  const scrape = (): void => {
    const [first, ...others] = measured.map(({ families }) => families)
    const together = joined(first!, [first!, ...others].map(figuresOf))
    for (const families of [first!, ...others, together]) {
      for (const wrong of wrongWith(spoil(prometheusText(families)), 'prometheus')) trouble(`scrape: ${wrong}`)
      for (const wrong of wrongWith(spoil(openMetricsText(families)), 'openmetrics')) trouble(`scrape: ${wrong}`)
    }
  }
  const begin = (): void => {
    measured = guards.map(guard => measuredFamilies(guard, options))
  }
  begin()
  setInterval(() => {
    const turn = turns++ % (2 * SCRAPES_BEFORE_A_REST)
    if (turn < SCRAPES_BEFORE_A_REST) {
      if (turn === 0 && turns > 1) begin()
      scrape()
    } else if (turn === SCRAPES_BEFORE_A_REST) for (const each of measured) each.close()
  }, EVERY_MS).unref()
}
