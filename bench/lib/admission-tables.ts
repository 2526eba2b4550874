/** Writes the measured tables into docs/admission.md, between markers; the words around them are by hand. */
import { readFileSync, writeFileSync } from 'node:fs'
import type { Cell, Speed } from './admission-compare.ts'
import type { Sweep } from './admission-sweep.ts'
import { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'

interface Figures {
  readonly cells: readonly Cell[]
  readonly speed: readonly Speed[]
  readonly sweeps: readonly Sweep[]
}

export function writeTables(file: string, result: Figures): void {
  let text = readFileSync(file, 'utf8')
  for (const [name, table] of [
    ['limiters', limiters(result.cells)],
    ['speed', speed(result)],
    ['constants', constants(result)],
  ] as const) {
    const marked = new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(<!-- /${name} -->)`)
    if (!marked.test(text)) throw new Error(`${file} has no place marked <!-- ${name} -->`)
    text = text.replace(marked, (_, open: string, close: string) => `${open}${table}\n${close}`)
  }
  writeFileSync(file, text)
}

const percent = (share: number, digits = 1): string => `${(100 * share).toFixed(digits)} %`
const mean = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0) / numbers.length

function limiters(cells: readonly Cell[]): string {
  const rows = [...new Set(cells.map(cell => cell.limiter))].map(limiter => {
    const mine = cells.filter(cell => cell.limiter === limiter)
    const loaded = mine.filter(cell => !cell.noShed)
    const spared = mine.filter(cell => cell.noShed)
    const worst = loaded.toSorted((a, b) => a.worstShare - b.worstShare)[0]!
    const p99 = (name: string): string => `${mine.find(cell => cell.scenario === name)!.p99Ms.toFixed(0)}`
    const converged = mine.map(cell => cell.convergeS ?? Number.POSITIVE_INFINITY)
    const late = converged.filter(seconds => seconds > 5).length
    const drifts = mine.filter(cell => cell.scenario.endsWith('ten minutes')).map(cell => cell.drift.toFixed(2))
    return [
      limiter,
      percent(mean(loaded.map(cell => cell.share))),
      `${percent(worst.worstShare)} (${worst.scenario})`,
      `${spared.filter(cell => cell.worstShed >= 0.001).length} of ${spared.length}`,
      `${p99('cpu at 10x')}, ${p99('pool at 10x')}`,
      `${late} of ${mine.length}`,
      drifts.join(', '),
      String(mine.filter(cell => cell.leftOver > 0).length),
    ]
  })
  return markdownTable(
    [
      'limiter',
      'goodput, mean of ideal',
      'worst',
      'scenarios with false sheds',
      'p99 at 10x, core and pool, ms',
      'not back within 5 s',
      'drift in ten minutes, core and pool',
      'not drained 20 s after',
    ],
    rows,
  )
}

function speed(result: Figures): string {
  return markdownTable(
    ['scenario', 'simulated seconds per second', 'requests per second'],
    result.speed.map(each => [
      each.scenario,
      Math.round(each.secondsPerSecond).toLocaleString('en'),
      Math.round(each.requestsPerSecond).toLocaleString('en'),
    ]),
  )
}

function constants(result: Figures): string {
  return markdownTable(
    ['', 'constant', 'ships as', 'value: worst goodput / worst false sheds / p99 at 10x'],
    result.sweeps.map(each => [
      each.of,
      `\`${each.name}\``,
      String(each.shipped),
      each.points
        .map(point => {
          const figures = `${point.value}: ${percent(point.worst, 0)} / ${percent(point.falseShed, 2)} / ${point.p99Ms.toFixed(0)} ms`
          return point.value === each.shipped ? `**${figures}**` : figures
        })
        .join('<br>'),
    ]),
  )
}
