/** Pages have figures of one commit, none is compared with itself, and those of the README are on other pages. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { commitsIn } from '../../bench/figures/plan.ts'
import { STEPS } from '../../bench/figures/steps.ts'
import { PAGES, ROOT } from './pages.ts'

/**
 * Pages whose figures come from several commits, because they were not yet measured again. Entries may only be removed.
 */
const NOT_YET_MEASURED_AGAIN: readonly string[] = [
  'README.md',
  'README.zh-CN.md',
  'docs/alternatives.md',
  'docs/apps.md',
  'docs/experiments.md',
  'docs/faq.md',
  'docs/fleet.md',
  'docs/recovery.md',
  'docs/scoreboard.md',
]

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const resultsOf = (page: string): string[] =>
  STEPS.filter(({ pages, quotedBy = [] }) => pages.includes(page) || quotedBy.includes(page))
    .flatMap(({ results }) => globSync([...results], { cwd: ROOT }))
    .filter(file => file.endsWith('.json'))

/** The commits that a result names, or the days and machines if it names none. */
function originsIn(file: string): string[] {
  const result = JSON.parse(read(file))
  const commits = commitsIn(result)
  return commits.length > 0 ? commits : daysIn(result)
}
// Many pages may use the same file.
const known = new Map<string, string[]>()
function originsOf(file: string): string[] {
  const origins = known.get(file) ?? originsIn(file)
  known.set(file, origins)
  return origins
}

function daysIn(part: unknown): string[] {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return []
  const { date, startedAt = date, conditions = part, measured: _, ...rest } = part as Record<string, unknown>
  const { cpu } = conditions as { cpu?: string }
  if (typeof startedAt === 'string' && cpu !== undefined) return [`${startedAt.slice(0, 10)} on ${cpu}`]
  return [...new Set(Object.values(rest).flatMap(daysIn))]
}

test('the figures of a page come from one commit, unless it is listed, and every listed page needs it', () => {
  const pages = [...new Set(STEPS.flatMap(({ pages, quotedBy = [] }) => [...pages, ...quotedBy]))]
  const mixed = pages
    .filter(page => page.endsWith('.md'))
    .filter(page => new Set(resultsOf(page).flatMap(originsOf)).size > 1)
  const again = 'npm run figures measures all at one commit; then take the page off NOT_YET_MEASURED_AGAIN'
  assert.deepEqual(mixed.sort(), [...NOT_YET_MEASURED_AGAIN].sort(), again)
})

/** A figure compared with itself: `9.1 ms against 9.1 ms`, `10,116/s of 10,116/s`. Counts may equal their total. */
const WITH_ITSELF =
  /(?<![\w.,])(\d[\d,.]*\d)((?: ?(?:%|ms|s|us|MB)|\/s)?)(?:,? (?:against|instead of|than|compared with) (?:the )?| of (?=[\d,.]+(?: ?(?:%|ms|us|MB)|\/s)))\1\2(?![\d.,]*\d)/
test('no generated page compares a figure with itself', () => {
  const found = PAGES.filter(({ generated, text }) => generated && WITH_ITSELF.test(text)).map(({ path }) => path)
  assert.deepEqual(found, [])
})

test('the pattern finds a figure compared with itself, and accepts a count such as 20 of 20', () => {
  for (const text of ['10,116/s of 10,116/s', '91 % against the 91 %', '9.1 ms, instead of 9.1 ms']) {
    assert.match(text, WITH_ITSELF)
  }
  for (const text of ['500 of 500 calls', '84 % against 72 %', '9 ms against 9.1 ms', '390 against 1,390']) {
    assert.doesNotMatch(text, WITH_ITSELF)
  }
})

interface Figure {
  readonly value: number
  readonly digits: number
  readonly unit: string
}

/** Figures with a unit. Numbers without one often mean something else. */
function figuresIn(text: string): Figure[] {
  const found = text.matchAll(/(?<![\w.#,-])(\d[\d,]*(?:\.\d+)?) (%|us|ms|MB|s)(?!\w)/g)
  return [...found].map(([, number, unit]) => {
    const plain = number!.replaceAll(',', '')
    return { value: Number(plain), digits: plain.split('.')[1]?.length ?? 0, unit: unit! }
  })
}

const LINK = /\]\(((?:docs|bench)\/[\w./-]+)/g
const GENERATED = PAGES.filter(page => page.generated).flatMap(({ text }) => figuresIn(text))
const figuresOf = (path: string): Figure[] => (existsSync(join(ROOT, path)) ? figuresIn(read(path)) : [])

/** Figures of a README that are on none of the pages linked in their paragraph, list item or table. */
function unproven(text: string): string[] {
  const blocks = text.replace(/^```[\s\S]*?^```$/gm, '').split(/\n\n|\n(?=- )/)
  return blocks.flatMap((block, i) => {
    // The paragraph above a table names its source.
    const about = block.startsWith('|') ? `${blocks[i - 1]} ${block}` : block
    const links = [...about.matchAll(LINK)].map(([, path]) => path!)
    const borneOut = links.length === 0 ? GENERATED : links.flatMap(figuresOf)
    // Either direction of rounding counts, because a page may have rounded the figure before.
    const isThere = ({ value, digits, unit }: Figure): boolean =>
      borneOut.some(other => other.unit === unit && Math.abs(other.value - value) <= 0.5 / 10 ** digits + 1e-9)
    return figuresIn(block)
      .filter(figure => !isThere(figure))
      .map(({ value, unit }) => `${value} ${unit}`)
  })
}

for (const file of ['README.md', 'README.zh-CN.md']) {
  test(`${file}: every figure with a unit is on a page linked beside it`, () => {
    assert.deepEqual(unproven(read(file)), [])
  })
}

test('a figure that is on no page is found', () => {
  const text = read('README.md')
  assert.deepEqual(unproven(text.replace(', 85 % of', ', 84.7 % of')), ['84.7 %'])
})
