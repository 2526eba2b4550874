/** `meltlab report`: the report of results that are there already, as a page or as Markdown. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { scenarioHtml } from '../report/html.ts'
import { markdownPage } from '../report/markdown-page.ts'
import { attackReport } from '../report/attack-report.ts'
import { isOlder } from '../experiment/script-digest.ts'
import { pictureOf, scenarioCss } from '../report/write.ts'
import { catalogue, scoreboard } from '../scenarios/catalogue.ts'
import { outcomeOf, planOfDocument } from '../results/attack-document.ts'
import { foreignText } from '../results/foreign/text.ts'
import { readResult } from '../results/read-result.ts'
import { UserError } from '../user-error.ts'
import { readScenario, scenarioOf } from './read-scenario.ts'
import { readText } from './written-file.ts'

interface Flags {
  readonly markdown?: true
  readonly images: string
}

export function registerReport(program: Command): void {
  program
    .command('report')
    .summary('write the report of results once more, as a page or as Markdown')
    .description(
      'Reads each RESULT (a result.json, or a folder with results) and writes its page beside it; with --markdown one page ' +
        'about all of them, on stdout, in the order of `meltlab list`. A result of `meltlab attack --json`, k6, vegeta or ' +
        'autocannon is printed as text.',
    )
    .argument('<result...>', 'files or folders')
    .option('--markdown', 'one Markdown page about all results, on stdout')
    .option('--images <dir>', 'where --markdown puts its pictures', 'images')
    .action((places: string[], flags: Flags) => report(places, flags))
}

function report(places: readonly string[], { markdown, images }: Flags): void {
  if (markdown !== true) {
    for (const file of places.flatMap(filesIn)) {
      const content = readText(file)
      const result = scenarioOf(content, file)
      if (result === undefined) {
        process.stdout.write(loadText(content, file))
        continue
      }
      const html = file.replace(/(result)?\.json$/, (_, named?: string) => (named ? 'report.html' : '.html'))
      writeFileSync(html, scenarioHtml(result, scenarioCss()))
      process.stdout.write(`${html}\n`)
    }
    return
  }
  process.stdout.write(markdownReport(places, images))
}

/** One page about all results, its pictures written to `images`. A README.md in the first folder is the page's head. */
export function markdownReport(places: readonly string[], images: string): string {
  const order = [...catalogue, ...scoreboard].map(({ name }) => name)
  const results = places
    .flatMap(filesIn)
    .map(readScenario)
    .map(result => (isOlder(result) ? { ...result, older: true as const } : result))
    .sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
  mkdirSync(images, { recursive: true })
  for (const result of results) {
    if (result.plots.length > 0) writeFileSync(path.join(images, `experiment-${result.name}.svg`), pictureOf(result))
  }
  const head = path.join(places[0]!, 'README.md')
  return markdownPage(results, path.basename(images), existsSync(head) ? readFileSync(head, 'utf8') : undefined)
}

/** Of the result of a load run, ours or another tool's. */
function loadText(content: string, file: string): string {
  const result = readResult(content, file)
  return result.kind === 'foreign'
    ? foreignText(result.result)
    : attackReport(planOfDocument(result.document), outcomeOf(result.document), result.document.expectations)
}

function filesIn(place: string): string[] {
  const stats = statSync(place, { throwIfNoEntry: false })
  if (stats === undefined) throw new UserError(`there is no ${place}; expected a result.json or a folder with results`)
  if (!stats.isDirectory()) return [place]
  const names = readdirSync(place).filter(name => name.endsWith('.json'))
  if (names.length === 0) throw new UserError(`${place} holds no result; expected files that end in .json`)
  return names.sort().map(name => path.join(place, name))
}
