/** A context whose app answers at given rates, one for each load, and whose loads take no time. */
import type { AppSpec, Context, RunningApp } from '../../src/experiment/scenario.ts'
import type { LoadOutcome } from '../../src/load/plan.ts'
import { outcome, second } from '../melt/fixture.ts'

export interface FakeContext {
  readonly context: Context
  /** The labels of the loads so far. */
  readonly labels: readonly string[]
  readonly stopped: () => number
  /** The app that `context.start` returns. */
  readonly app: RunningApp
}

/** @param rates answers per second in each load of one second; the last one repeats */
export function contextAt(rates: readonly number[], onLoad: (rate: number) => void = () => {}): FakeContext {
  const labels: string[] = []
  let stops = 0
  const app = { origin: 'http://app', stop: async () => void stops++, check() {} } as unknown as RunningApp
  const context = {
    pick: ({ full }: { readonly full: unknown }) => full,
    start: async (_spec: AppSpec) => app,
    async load(label: string): Promise<LoadOutcome> {
      const good = rates[labels.length] ?? rates.at(-1)!
      labels.push(label)
      onLoad(good)
      return outcome([second(0, { good })])
    },
  } as unknown as Context
  return { context, labels, stopped: () => stops, app }
}
