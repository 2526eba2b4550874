/** Combines the families of several processes into one. Pure. */
import type { Aggregator, Family, Sample } from './instruments.ts'

/** The samples of a process, by name of the family. */
export type Figures = Readonly<Record<string, readonly Sample[]>>

export function figuresOf(families: readonly Family[]): Figures {
  return Object.fromEntries(families.map(({ name, samples }) => [name, samples()]))
}

/** The counts of ended processes. They stay in the total, because a counter that falls looks like a restart. */
export function countedOf(families: readonly Family[], all: readonly Figures[]): Figures {
  return figuresOf(joined(families, all).filter(({ type }) => type !== 'gauge'))
}

/** @param described the families to which the figures in `all` belong */
export function joined(described: readonly Family[], all: readonly Figures[]): Family[] {
  return described.map(family => {
    const known = all.flatMap(figures => figures[family.name] ?? [])
    const samples = joinedSamples(family.aggregator, known)
    return { ...family, samples: () => samples }
  })
}

function joinedSamples(aggregator: Aggregator, all: readonly Sample[]): Sample[] {
  const alike = Map.groupBy(all, ({ suffix, labels }) => JSON.stringify([suffix, labels]))
  return [...alike.values()].map(samples => {
    const exemplars = samples.flatMap(({ exemplar }) => exemplar ?? [])
    return {
      ...samples[0]!,
      value: JOIN[aggregator](samples.map(({ value }) => value)),
      exemplar: exemplars.sort((a, b) => b.atS - a.atS)[0],
    }
  })
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)
const JOIN: Readonly<Record<Aggregator, (values: readonly number[]) => number>> = {
  sum,
  min: values => Math.min(...values),
  max: values => Math.max(...values),
  average: values => sum(values) / values.length,
}
