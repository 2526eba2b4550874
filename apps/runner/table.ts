/** Makes docs/apps.md from the results. Pure. */
import type { CheckName } from '../checks/all.ts'
import { markdownTable } from './lab.ts'
import type { AppResult, Recorded } from './results.ts'

/** Columns: the meaning of each check, in a few words. */
export const HEADINGS: Readonly<Record<CheckName, string>> = {
  'same-answers': 'same answers',
  streams: 'streams live',
  companions: 'beside a tracer',
  'half-load': 'shed at 50 %',
  'ten-times': 'kept at 10x',
  sigterm: 'SIGTERM',
}

const MIXED = '\nThe cells are of several commits: [which of which](#measured-on).'

export function appsPage(results: readonly AppResult[], checks: readonly CheckName[]): string {
  const rows = results.map(result => [
    `${result.title} (\`${result.version}\`)`,
    ...checks.map(check => cell(result.checks[check])),
  ])
  const all = results.flatMap(({ title, checks: of }) =>
    checks.flatMap(check => (of[check] === undefined ? [] : [{ title, check, recorded: of[check] }])),
  )
  const mixed = new Set(all.map(({ recorded }) => recorded.runtime)).size > 1
  const passed = results.filter(result => checks.every(check => result.checks[check]?.ok)).length
  return `# Apps we did not write

Written by \`npm run apps\` (\`apps/run.ts\`) from \`apps/results/\`; not by hand. Each app comes from npm, is started bare and
with \`--import meltproof/register\`, without options, and compared. ${passed} of ${results.length} pass every check.${mixed ? MIXED : ''}

${markdownTable(['', ...checks.map(check => HEADINGS[check])], rows)}

- **same answers**: its main paths answer the same, byte for byte, except dates, ids that the app creates, \`Connection\`
  and \`Keep-Alive\`.
- **streams live**: WebSockets, server-sent events and ndjson with silences of 12 s, a long poll of 15 s, uploads and
  downloads of 20 s.
- **beside a tracer**: the same answers with OpenTelemetry's auto-instrumentation and prom-client loaded, and no fewer
  server spans.
- **shed at 50 %**: at half of the capacity of its most expensive route no request may be shed.
- **kept at 10x**: goodput at ten times that capacity, offered to a process that has just started, for five seconds, and for five
  more once its code has been compiled. The figure is goodput of the second five seconds over that of the bare app with the
  number of users that it serves best (in brackets: without meltproof, from the start); medians of three alternating rounds.
  It must be at least 90 % of what the cost of a shed allows, and every request must be answered from the first on. If less
  was kept at first, the notes say so.
- **SIGTERM**: requests lost when it is ended at 70 % of that capacity, not counting refused connections: none with
  \`MELTPROOF_DRAIN=on\` and a delay of 500 ms, from a cold start; without it, no more than without meltproof, except by chance
  (three standard deviations). Those two are warm, and medians of three: an app that ends at once loses the requests in
  flight, and the backlog of a cold start differs by hundreds from run to run.

${failuresOf(results, checks)}${notesOf(results, checks)}## Measured on

${machinesOf(all)}
`
}

function cell(recorded: Recorded | undefined): string {
  if (recorded === undefined) return 'not run'
  return recorded.ok ? recorded.summary : `**no**: ${recorded.summary}`
}

function failuresOf(results: readonly AppResult[], checks: readonly CheckName[]): string {
  const lines = linesOf(results, checks, recorded => recorded.failures)
  return lines.length === 0 ? '' : `## What failed\n\n${lines.join('\n')}\n\n`
}

function notesOf(results: readonly AppResult[], checks: readonly CheckName[]): string {
  const lines = linesOf(results, checks, recorded => recorded.notes ?? [])
  return lines.length === 0 ? '' : `## Notes\n\n${lines.join('\n')}\n\n`
}

function linesOf(
  results: readonly AppResult[],
  checks: readonly CheckName[],
  read: (recorded: Recorded) => readonly string[],
): string[] {
  return results.flatMap(({ title, checks: of }) =>
    checks.flatMap(check => {
      const recorded = of[check]
      return recorded === undefined
        ? []
        : read(recorded).map(text => `- **${title}**, ${HEADINGS[check]}: ${plain(text)}`)
    }),
  )
}

/** Escapes a sentence, because it may contain parts of an answer, which must not become markup. */
function plain(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[<>[\]*_`|]/g, '\\$&')
}

interface Cell {
  readonly title: string
  readonly check: CheckName
  readonly recorded: Recorded
}

function machinesOf(all: readonly Cell[]): string {
  const places = new Map<string, Cell[]>()
  for (const each of all) {
    const { machine, runtime } = each.recorded
    const gib = (machine.memoryBytes / 2 ** 30).toFixed(0)
    const place = `meltproof at ${runtime}, Node ${machine.node}, ${machine.cores} cores of ${machine.cpu}, ${gib} GiB, ${machine.platform}`
    places.set(place, [...(places.get(place) ?? []), each])
  }
  return [...places]
    .map(([place, cells]) => {
      const days = [...new Set(cells.map(({ recorded }) => recorded.date))].sort()
      const apps = [...Map.groupBy(cells, ({ title }) => title)].map(
        ([title, those]) => `${title} (${those.map(({ check }) => HEADINGS[check]).join(', ')})`,
      )
      return `- ${days.length > 1 ? `${days[0]} to ${days.at(-1)}` : days[0]}: ${place}: ${apps.join('; ')}.`
    })
    .join('\n')
}
