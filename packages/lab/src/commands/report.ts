/** `meltlab report`: draws stored results, as a page or as Markdown. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { scenarioHtml } from '../report/html.ts'
import { markdownIndex, markdownPage, markdownPageOf } from '../report/markdown-page.ts'
import { attackReport } from '../report/attack-report.ts'
import type { AttackRun } from '../report/attack-words.ts'
import { stepsReport } from '../report/steps-report.ts'
import { isOlder } from '../experiment/script-digest.ts'
import { pictureOf, scenarioCss } from '../report/write.ts'
import { catalogue, scoreboard } from '../scenarios/catalogue.ts'
import { type AttackDocument, outcomeOf, planOfDocument } from '../results/attack-document.ts'
import { readResult } from '../results/read-attack.ts'
import { readScenario, scenarioOf } from './read-scenario.ts'
import { withoutControls } from '../terminal.ts'
import { resultFiles } from './result-files.ts'
import { readText, writeText } from './user-files.ts'

interface Flags {
  readonly markdown?: true
  readonly images: string
  readonly pages?: string
}

export function registerReport(program: Command): void {
  program
    .command('report')
    .summary('regenerate the report of stored results, as a page or as Markdown')
    .description(
      'Reads each RESULT (a result.json, or a folder with results) and writes its page beside it; with --markdown one page ' +
        'about all of them, on stdout, in the order of `meltlab list`. A result of `meltlab attack --json` is ' +
        'printed as text.',
    )
    .argument('<result...>', 'files or folders')
    .option('--markdown', 'one Markdown page about all results, on stdout')
    .option('--images <dir>', 'folder for the pictures of --markdown', 'images')
    .option('--pages <dir>', 'with --markdown: folder for a page per result; only an index goes to stdout')
    .action((places: string[], flags: Flags) => report(places, flags))
}

function report(places: readonly string[], { markdown, images, pages }: Flags): void {
  if (markdown === true) {
    process.stdout.write(markdownReport(places, images, pages))
    return
  }
  const files = places.flatMap(resultFiles)
  for (const [at, file] of files.entries()) {
    const content = readText(file)
    const result = scenarioOf(content, file)
    if (result === undefined) {
      const title = files.length === 1 ? '' : `${at === 0 ? '' : '\n'}${file}\n`
      process.stdout.write(withoutControls(title + loadText(content, file)))
    } else {
      const html = pageBeside(file)
      writeText(html, scenarioHtml(result, scenarioCss()))
      process.stdout.write(`${html}\n`)
    }
  }
}

/** `report.html` for `result.json`, otherwise named after the file; never the result itself. */
function pageBeside(file: string): string {
  const { dir, name } = path.parse(file)
  return path.join(dir, `${name === 'result' ? 'report' : name}.html`)
}

/** A README.md in the first folder is the introduction. With `pages`, writes a page per result and returns an index. */
export function markdownReport(places: readonly string[], images: string, pages?: string): string {
  const order = [...catalogue, ...scoreboard].map(({ name }) => name)
  const results = places
    .flatMap(resultFiles)
    .map(readScenario)
    .map(result => (isOlder(result) ? { ...result, older: true as const } : result))
    .sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
  mkdirSync(images, { recursive: true })
  for (const result of results) {
    if (result.plots.length > 0) writeText(path.join(images, `experiment-${result.name}.svg`), pictureOf(result))
  }
  const file = path.join(places[0]!, 'README.md')
  const head = existsSync(file) ? readFileSync(file, 'utf8') : undefined
  if (pages === undefined) return markdownPage(results, path.basename(images), head)
  mkdirSync(pages, { recursive: true })
  const folder = path.basename(pages)
  for (const result of results) {
    const page = markdownPageOf(result, path.relative(pages, images), `../${folder}.md`)
    writeText(path.join(pages, `${result.name}.md`), page)
  }
  return markdownIndex(results, folder, head, path.relative(path.dirname(pages), images))
}

function loadText(content: string, file: string): string {
  const read = readResult(content, file)
  const runOf = (document: AttackDocument): AttackRun => ({
    plan: planOfDocument(document),
    outcome: outcomeOf(document),
    judged: document.expectations,
  })
  if (read.kind === 'steps') return stepsReport(read.documents.map(runOf), read.documents.length, false)
  const { plan, outcome, judged } = runOf(read.document)
  return attackReport(plan, outcome, judged)
}
