/**
 * Parses a scrape as strictly as the two formats require: Prometheus text 0.0.4 and OpenMetrics 1.0, as far as
 * meltproof writes them. Pure.
 * https://prometheus.io/docs/instrumenting/exposition_formats/ and https://github.com/prometheus/OpenMetrics
 */

export type Format = 'prometheus' | 'openmetrics'

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const NUMBER = String.raw`(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|[+-]?Inf|NaN)`
const LABELS = String.raw`\{((?:[a-zA-Z_]\w*="(?:[^\\"\n]|\\[\\"n])*",?)*)\}`
const EXEMPLAR = String.raw`(?: # \{([^}]*)\} (${NUMBER})(?: (${NUMBER}))?)?`
const SAMPLE = new RegExp(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:${LABELS})? (${NUMBER})${EXEMPLAR}$`)
const LABEL = /([a-zA-Z_]\w*)="((?:[^\\"\n]|\\[\\"n])*)"/g
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: ['_total'],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count'],
}

interface Family {
  readonly name: string
  type: string | undefined
  hasHelp: boolean
  /** The parts of a histogram, by labels without `le`. */
  readonly histograms: Map<string, Histogram>
}

interface Histogram {
  readonly bounds: number[]
  readonly counts: number[]
  sum?: number
  count?: number
}

/** Returns the errors in a scrape, or an empty list. */
export function wrongWith(text: string, format: Format): string[] {
  const wrong: string[] = []
  const families = new Map<string, Family>()
  const series = new Set<string>()
  let family: Family | undefined
  let lastLabels = ''

  const familyNamed = (name: string): Family => {
    if (family?.name === name) return family
    const known = families.get(name)
    if (known !== undefined) wrong.push(`${name}: its lines are not one group`)
    if (!NAME.test(name)) wrong.push(`${name}: not a name`)
    family = known ?? { name, type: undefined, hasHelp: false, histograms: new Map() }
    families.set(name, family)
    lastLabels = ''
    return family
  }

  const onMetadata = (line: string): void => {
    const [, keyword, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
    if (keyword === undefined) {
      wrong.push(`neither HELP, TYPE nor a sample: ${line}`)
      return
    }
    const described = familyNamed(name)
    if (keyword === 'HELP') {
      if (described.hasHelp) wrong.push(`${name}: HELP twice`)
      if (!(format === 'openmetrics' ? /^(?:[^\\"]|\\[\\"n])+$/ : /^(?:[^\\]|\\[\\n])+$/).test(rest)) {
        wrong.push(`${name}: HELP is empty, or not escaped: ${rest}`)
      }
      described.hasHelp = true
    } else {
      if (described.type !== undefined) wrong.push(`${name}: TYPE twice`)
      if (!Object.hasOwn(SUFFIXES, rest)) wrong.push(`${name}: unknown TYPE ${rest}`)
      described.type = rest
    }
  }

  const onSample = (line: string): void => {
    const [, sampleName, braces = '', number, exemplar, exemplarValue] = SAMPLE.exec(line) ?? []
    if (sampleName === undefined) {
      wrong.push(`not a sample: ${line}`)
      return
    }
    const suffix = sampleName.slice(family?.name.length)
    const inName = format === 'prometheus' && family?.type === 'counter' ? ['', ...SUFFIXES['counter']!] : undefined
    const suffixes = inName ?? SUFFIXES[family?.type ?? ''] ?? []
    if (family === undefined || !sampleName.startsWith(family.name) || !suffixes.includes(suffix)) {
      wrong.push(`${sampleName}: its family's HELP and TYPE do not stand before it`)
      return
    }
    if (family.type === 'counter' && !sampleName.endsWith('_total')) wrong.push(`${sampleName}: counts without _total`)
    const labels = [...braces.matchAll(LABEL)].map(([, name, value]) => [name!, value!] as const)
    if (new Set(labels.map(([name]) => name)).size < labels.length) wrong.push(`a label twice: ${line}`)
    const identity = JSON.stringify([sampleName, labels.toSorted(([one], [other]) => (one < other ? -1 : 1))])
    if (series.has(identity)) wrong.push(`a series twice: ${sampleName}{${braces}}`)
    series.add(identity)
    const value = parsedNumber(number!)
    if (family.type !== 'gauge' && !(value >= 0)) wrong.push(`counts below 0: ${line}`)
    if (family.type === 'histogram') onHistogram(family, suffix, labels, value, line)
    if (exemplar !== undefined) {
      const bound = parsedNumber(labels.find(([name]) => name === 'le')?.[1] ?? 'NaN')
      if (format !== 'openmetrics' || suffix !== '_bucket') wrong.push(`no place for an exemplar: ${line}`)
      else if (!(parsedNumber(exemplarValue!) <= bound)) wrong.push(`an exemplar of another bucket: ${line}`)
    }
  }

  const onHistogram = (
    { histograms }: Family,
    suffix: string,
    labels: readonly (readonly [string, string])[],
    value: number,
    line: string,
  ): void => {
    const key = JSON.stringify(labels.filter(([name]) => name !== 'le'))
    const known = histograms.get(key)
    if (known !== undefined && key !== lastLabels) wrong.push(`the lines of a histogram are not together: ${line}`)
    lastLabels = key
    const histogram = known ?? { bounds: [], counts: [] }
    histograms.set(key, histogram)
    if (suffix === '_sum') histogram.sum = value
    else if (suffix === '_count') histogram.count = value
    else {
      const bound = labels.find(([name]) => name === 'le')?.[1]
      if (bound === undefined) wrong.push(`a bucket without a bound: ${line}`)
      else histogram.bounds.push(parsedNumber(bound))
      histogram.counts.push(value)
    }
  }

  if (!text.endsWith('\n')) wrong.push('the last line does not end')
  const lines = text.split('\n').slice(0, -1)
  if (format === 'openmetrics' && lines.pop() !== '# EOF') wrong.push('the last line is not # EOF')
  for (const line of lines) {
    if (line.startsWith('#')) onMetadata(line)
    else onSample(line)
  }
  for (const { name, hasHelp, type, histograms } of families.values()) {
    if (!hasHelp || type === undefined) wrong.push(`${name}: no HELP or no TYPE`)
    for (const suffix of SUFFIXES[type ?? ''] ?? []) {
      if (suffix !== '' && families.has(name + suffix)) wrong.push(`${name + suffix}: also a sample of ${name}`)
    }
    for (const [labels, histogram] of histograms) wrong.push(...wrongWithHistogram(`${name} ${labels}`, histogram))
  }
  return wrong
}

function wrongWithHistogram(name: string, { bounds, counts, sum, count }: Histogram): string[] {
  const rises = (values: readonly number[]): boolean => values.every((value, i) => i === 0 || value >= values[i - 1]!)
  return [
    ...(rises(bounds) && new Set(bounds).size === bounds.length ? [] : [`${name}: bounds do not rise`]),
    ...(rises(counts) ? [] : [`${name}: buckets are not cumulative`]),
    ...(bounds.at(-1) === Number.POSITIVE_INFINITY ? [] : [`${name}: no bucket +Inf`]),
    ...(sum === undefined || count === undefined ? [`${name}: no sum or no count`] : []),
    ...(counts.at(-1) === count ? [] : [`${name}: bucket +Inf has ${counts.at(-1)}, the count is ${count}`]),
  ]
}

function parsedNumber(text: string): number {
  return Number(text.replace('Inf', 'Infinity'))
}
