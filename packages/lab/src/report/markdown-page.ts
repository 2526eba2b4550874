/** Several results in Markdown: on one page, or on one page each, with an index. Pure. */
import { markdownTable } from './markdown-table.ts'
import type { ScenarioResult, Table } from './result.ts'

/** `older`: the experiment has changed since this result was measured. */
type Found = Omit<ScenarioResult, 'measured'> & { readonly older?: true }

const SIGNS = { pass: 'as expected', fail: '**not as expected**', 'not judged': 'not judged' } as const
const MOST_ROWS = 14
/** More reasons for doubt than this are folded as well. */
const MOST_REASONS = 4

const usualHead = `# Experiments

Written by \`meltlab report --markdown\`; not by hand. Each is an experiment made repeatable, bare, with the usual
remedy, and with meltproof: \`meltlab run NAME\` repeats it, and [scenarios.md](scenarios.md) describes each.
Absolute figures belong to the machine that each result names.`

/** `images`: link from the page to the folder of its pictures. `head`: the page's title and introduction. */
export function markdownPage(results: readonly Found[], images: string, head: string = usualHead): string {
  const index = overviews(results, name => `#${name}`)
  const sections = results.map(result => `## ${result.name}\n\n${section(result, images)}`)
  return [head.trimEnd(), ...index, sections.join('\n')].join('\n\n')
}

/** `folder`, `images`: links to the pages and the pictures. Shows pictures of results that have overview tables. */
export function markdownIndex(
  results: readonly Found[],
  folder: string,
  head: string = usualHead,
  images = 'images',
): string {
  const pictures = results
    .filter(({ overviews: tables = [], plots }) => tables.length > 0 && plots.length > 0)
    .map(({ name, title }) => `[![${title}](${images}/experiment-${name}.svg)](${folder}/${name}.md)`)
  const pictured = pictures.length === 0 ? [] : ['## The pictures', pictures.join('\n')]
  return `${[head.trimEnd(), ...overviews(results, name => `${folder}/${name}.md`), ...pictured].join('\n\n')}\n`
}

export function markdownPageOf(result: Found, images: string, index: string): string {
  const head = `# ${result.name}\n\nWritten by \`meltlab report --markdown\`; not by hand. [The others](${index}).`
  return `${head}\n\n${section(result, images)}`
}

/** Tables with the same title become one. The first cell of each row links to its result. */
function overviews(results: readonly Found[], linkTo: (name: string) => string): string[] {
  const usually = ['experiment', 'what it found', 'certified']
  const own = results.flatMap(({ name, overviews: tables, finding, certified }) => {
    const usual: Table = { title: '', columns: usually, rows: [{ cells: [name, finding, certified ? 'yes' : 'no'] }] }
    return (tables ?? [usual]).map(table => ({ ...table, name }))
  })
  const tables = [...Map.groupBy(own, ({ title }) => title)].flatMap(([title, those]) => {
    const rows = those.flatMap(({ name, rows }) =>
      rows.map(({ cells: [first = name, ...rest] }) => [`[${first}](${linkTo(name)})`, ...rest]),
    )
    if (rows.length === 0) return []
    const { note, columns } = those[0]!
    return [
      ...(title === '' ? [] : [`## ${title}`]),
      ...(note === undefined ? [] : [note]),
      markdownTable(columns, rows),
    ]
  })
  return [...origins(results), ...tables]
}

/** Warns readers not to compare results of different versions or machines. */
function origins(results: readonly Found[]): string[] {
  const groups = Map.groupBy(
    results,
    ({ conditions: { commit, labVersion, cpu } }) => `${commit ?? labVersion} on ${cpu}`,
  )
  if (groups.size < 2) return []
  const lines = [...groups].map(([origin, those]) => `- ${origin}: ${those.map(({ name }) => name).join(', ')}`)
  return [
    '**Compare within a row only.** The rows are of different versions of meltlab and machines:',
    lines.join('\n'),
  ]
}

function section(result: Found, images: string): string {
  const { name, title, story, plots, finding, published, verdicts, tables, printouts = [] } = result
  const parts = [
    `**${title}.** ${story}`,
    where(result),
    ...(plots.length > 0 ? [`![${title}](${images}/experiment-${name}.svg)`] : []),
    finding,
  ]
  if (published.length > 0) {
    const rows = published.map(({ what, value, ours = '' }) => [what, value, ours])
    parts.push(markdownTable(['published', 'figure', 'here'], rows))
  }
  if (verdicts.length > 0) {
    const rows = verdicts.map(each => [each.name, SIGNS[each.verdict], each.measured])
    parts.push(markdownTable(['expected', '', 'measured'], rows))
  }
  parts.push(...tables.map(table))
  for (const { title: what, text } of printouts) parts.push(folded(what, `\`\`\`\n${text.trimEnd()}\n\`\`\``))
  return `${parts.join('\n\n')}\n`
}

function where({ startedAt, elapsedMs, form, conditions, certified, why, older }: Found): string {
  const { node, appNode = [node], cores, cpu, commandLine, labVersion, commit } = conditions
  const at = commit === undefined ? '' : ` at ${commit}`
  const took = elapsedMs === 0 ? '' : ` ${Math.round(elapsedMs / 1000)} s`
  const said = `\`${commandLine}\`, ${form} form,${took} on ${startedAt.slice(0, 10)}; meltlab ${labVersion}${at}, Node ${appNode.join(' and ')}, ${cores} cores of ${cpu}.${older === true ? ' The experiment has changed since then, and must be measured again.' : ''}`
  if (certified) return `${said} Certified.`
  const reasons = why.map(reason => `- ${reason}`).join('\n')
  return `${said} Not certified:\n\n${why.length > MOST_REASONS ? folded(`${why.length} reasons`, reasons) : reasons}`
}

function table({ title, note, columns, rows }: Table): string {
  const cells = rows.map(row => row.cells)
  const text = markdownTable(columns, cells)
  const noted = note === undefined ? text : `${note}\n\n${text}`
  return rows.length > MOST_ROWS ? folded(title, noted) : `**${title}**\n\n${noted}`
}

function folded(title: string, content: string): string {
  return `<details><summary>${title}</summary>\n\n${content}\n\n</details>`
}
