/** Every code block of every page runs against the built packages, or is checked by a validator for its language. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { type Block, blocksOf } from './blocks.ts'
import { PAGES, ROOT } from './pages.ts'
import { shellFaults } from './shell.ts'
import { dockerfileFaults, notInstalled, promqlFaults, targetsFaults, unitFaults, yamlFaults } from './validated.ts'

/** Blocks that neither run nor are validated, by page and first words, each with the reason. */
const NOT_RUN: readonly (readonly [page: string, begins: string, reason: string])[] = [
  ['ARCHITECTURE.md', 'flowchart LR', 'a drawing, by GitHub; the paths around it are checked in documents.test.ts'],
  ['ARCHITECTURE.md', 'signals       nothing', 'what imports.test.ts enforces'],
  ['docs/culprit.md', 'The event loop stalled', 'a message that a program prints'],
  ['docs/deadline.md', 'Deadline: the price service', 'a message that a program prints'],
  ['docs/explain.md', 'The last request that was shed', 'a message that a program prints; tables.test.ts compares it'],
  [
    'docs/meltlab.md',
    'bare       ✗ melts',
    'a message that a program prints; packages/lab/test/melt/view.test.ts compares its form',
  ],
  [
    'packages/lab/README.md',
    'bare       ✗ melts',
    'a message that a program prints; packages/lab/test/melt/view.test.ts compares its form',
  ],
  [
    'docs/on-call.md',
    'The last request that was shed',
    'a message that a program prints; node bench/on-call.ts prints it',
  ],
  [
    'docs/on-call.md',
    'The last stall of the event loop',
    'a message that a program prints; node bench/on-call.ts prints it',
  ],
  [
    'docs/register.md',
    '(node:4242) MeltproofWarning',
    'a message that a program prints; dry-run-lines.test.ts compares it',
  ],
]

const JAVASCRIPT = ['js', 'ts', 'diff']
const FAULTS: Readonly<Record<string, (code: string) => readonly string[]>> = {
  sh: shellFaults,
  yaml: yamlFaults,
  promql: promqlFaults,
  ini: unitFaults,
  dockerfile: dockerfileFaults,
  json: jsonFaults,
  http: targetsFaults,
}

const reasonsUsed = new Set<number>()
describe('every code block of the documents runs or is valid', { concurrency: 3 }, () => {
  for (const { path, text, generated } of PAGES) {
    if (generated) continue
    for (const block of blocksOf(text)) {
      const reason = NOT_RUN.findIndex(([page, begins]) => page === path && block.code.startsWith(begins))
      if (reason !== -1) reasonsUsed.add(reason)
      else test(`${path}:${block.line} (${block.language})`, () => runsOrIsValid(block))
    }
  }
})

const DEBIAN_PACKAGES: Readonly<Record<string, string>> = { promtool: 'prometheus', 'systemd-analyze': 'systemd' }

test('the validators of blocks are installed', t => {
  const [missing] = notInstalled
  if (missing !== undefined) t.skip(`${missing} is not installed: apt-get install ${DEBIAN_PACKAGES[missing]}`)
})

test('every entry of NOT_RUN matches a block', () => {
  assert.deepEqual(
    NOT_RUN.filter((_, i) => !reasonsUsed.has(i)),
    [],
  )
})

test('an invalid block fails', async () => {
  await assert.rejects(runs('protect(server, { lnaes: 3 })'), /Did you mean 'lanes'/)
  await assert.rejects(runs('protect(server).statistics()'))
  await assert.rejects(runs("import { instal } from 'meltproof/outbound'"))
  await assert.rejects(
    runs('http.createServer((_, response) => response.writeHead(500).end()).listen(0)'),
    /answers 500/,
  )
  const faulty: readonly (readonly [language: string, code: string])[] = [
    ['sh', 'npm run demos'],
    ['sh', 'npx meltlab melt --qick -- node server.js'],
    ['sh', 'npx meltlab mlet -- node server.js'],
    ['sh', 'node --import meltproof/registre server.js'],
    ['sh', "NODE_OPTIONS='--import=file:///app/node_modules/meltproof/register.js' npm start"],
    ['sh', "NODE_OPTIONS='--require=/app/node_modules/meltproof/dist/register.js' npm start"],
    ['sh', 'node bench/none.ts'],
    ['sh', 'MELTPROOF_DRYRUN=on node server.js'],
    ['sh', 'MELTPROOF_LIMIT=many node server.js'],
    ['sh', 'npm ci && frobnicate'],
    ['json', '{ "a": }'],
    ['yaml', 'kind: Deployment\napiVersion: apps/v1\nspec: { replicas: many }'],
    ['yaml', 'a: [1'],
    ['yaml', kubernetes().replace('terminationGracePeriodSeconds', 'terminationGraceSeconds')],
    ['yaml', kubernetes().replace('MELTPROOF_DRAIN', 'MELTPROOF_DRIAN')],
    ['yaml', kubernetes().replace('port: admin', 'port: amdin')],
    ['http', 'GTE http://127.0.0.1/'],
    ['dockerfile', 'FORM node:24'],
    ['dockerfile', 'FROM node:24\nENV MELTPROOF_DRIAN=on'],
    ['ini', '[Service]\nExecStart=/usr/bin/node server.js\nEnvironment=MELTPROOF_DRIAN=on'],
  ]
  for (const [language, code] of faulty) assert.ok(FAULTS[language]!(code).length > 0, `${language}: ${code}`)
  if (process.env['CI'] === undefined) return
  assert.ok(promqlFaults('sum(rate(a[5m])').length > 0)
  assert.ok(unitFaults('[Service]\nExecStart=server.js').length > 0)
})

const kubernetes = (): string =>
  PAGES.filter(({ path }) => path === 'docs/deploy/kubernetes.md').flatMap(({ text }) => blocksOf(text))[0]!.code

async function runsOrIsValid({ language, code }: Block): Promise<void> {
  if (language === 'diff') {
    await runs(lines(code, '-'))
    await runs(lines(code, '+'), 'loads') // a rival may shed while the process is still busy with its start
  } else if (JAVASCRIPT.includes(language)) {
    await runs(code, 'answers', language === 'ts')
  } else {
    assert.ok(language in FAULTS, `a block of the language '${language}', which nothing here can run or validate`)
    assert.deepEqual(FAULTS[language]!(code), [])
  }
}

/** One side of a diff. */
const lines = (code: string, without: string): string =>
  code
    .split('\n')
    .filter(line => !line.startsWith(without))
    .map(line => line.slice(1))
    .join('\n')

/** Runs the code in a new process, which must print no errors, with the globals of givens.ts and on any free port. */
async function runs(code: string, does: 'answers' | 'loads' = 'answers', typed = false): Promise<void> {
  const program = code
    .replace(/\b(listen\(|port: )\d{4}\b/g, '$10')
    .replaceAll("from '../experiment/", `from '${pathToFileURL(join(ROOT, 'packages/lab/src/experiment/')).href}`)
  const kind = /\brequire\b/.test(code) && !/^import /m.test(code) ? 'commonjs' : 'module'
  const args = ['--import', join(import.meta.dirname, 'givens.ts'), `--input-type=${kind}${typed ? '-typescript' : ''}`]
  const end = `${kind === 'module' ? 'await' : 'void'} finish('${does}')`
  const child = spawn(process.execPath, [...args, '--eval', `${program}\n${end}`], { cwd: ROOT, timeout: 60_000 })
  child.stdout.resume()
  let said = ''
  child.stderr.on('data', text => {
    said += text
  })
  const [status] = (await once(child, 'close')) as [number | null]
  // A busy machine stalls the loop, and some programs report that.
  const complaints = said.replaceAll(
    /^\(node:\d+\) MeltproofWarning: The event loop stalled .*\n(\(Use `node .*\n)?/gm,
    '',
  )
  assert.deepEqual({ status, complaints }, { status: 0, complaints: '' })
}

/** Faults in JSON: one document, or one per line, like a log. */
function jsonFaults(code: string): string[] {
  const parses = (text: string): boolean => {
    try {
      JSON.parse(text)
      return true
    } catch {
      return false
    }
  }
  return parses(code) ? [] : code.split('\n').filter(line => !parses(line))
}
