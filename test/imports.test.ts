/**
 * Imports point in one direction (ARCHITECTURE.md). For each folder of a package, the rules list the siblings that it
 * may import. A folder that is not listed fails the test, so that a new one gets its place on purpose.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { code, earlyImportsOf, importsOf } from './source-imports.ts'

/** The files that any folder may import: at most ten. */
const VOCABULARY = [
  ...['channels', 'clock', 'errors', 'loaded', 'named-figures'],
  ...['options', 'record', 'replace-method', 'request-notes', 'warnings'],
]

interface Rules {
  /** Folder (or file of the root, without its ending) -> folders and root files it may import. */
  readonly may: Readonly<Record<string, readonly string[]>>
  /** Folders that it may load at run time. */
  readonly late?: Readonly<Record<string, readonly string[]>>
  /** Packages it may import by name; node: is always allowed unless `pure` forbids it. */
  readonly packages: readonly string[]
  /** Folders that know no Node API and no clock. */
  readonly pure: readonly string[]
}

const RULES: Readonly<Record<string, Rules>> = {
  'packages/meltproof': {
    may: {
      channels: ['record'],
      clock: [],
      errors: [],
      loaded: [],
      'named-figures': [],
      options: ['errors'],
      record: [],
      'replace-method': [],
      'request-notes': [],
      warnings: ['options'],
      chain: [],
      'fail-open': [],
      'linked-list': [],
      signals: VOCABULARY,
      deadline: [...VOCABULARY, 'signals'],
      adapters: VOCABULARY,
      admission: ['errors', 'options', 'signals', 'linked-list'],
      'process-gate': [...VOCABULARY, 'fail-open', 'signals', 'admission'],
      'work-gate': [...VOCABULARY, 'fail-open', 'linked-list', 'signals', 'admission', 'process-gate'],
      limiter: [...VOCABULARY, 'signals', 'admission', 'process-gate', 'work-gate', 'deadline'],
      server: [
        ...[...VOCABULARY, 'chain', 'fail-open', 'linked-list'],
        ...['signals', 'admission', 'process-gate', 'deadline'],
      ],
      index: ['errors', 'admission', 'deadline', 'server'],
      // protect() needs none of the following.
      outbound: [...VOCABULARY, 'chain', 'signals', 'admission', 'work-gate', 'deadline'],
      databases: [...VOCABULARY, 'work-gate', 'deadline', 'outbound'],
      timing: [...VOCABULARY, 'signals', 'outbound', 'server'],
      observe: [...VOCABULARY, 'signals', 'timing'],
      logging: [...VOCABULARY, 'timing'],
      cluster: ['loaded', 'warnings', 'observe', 'server'],
      admin: ['cluster', 'observe', 'server'],
      culprit: [...VOCABULARY, 'signals'],
      haproxy: [...VOCABULARY, 'cluster', 'server'],
      register: [
        ...[...VOCABULARY, 'cluster', 'server'],
        ...['admin', 'culprit', 'haproxy', 'logging', 'observe', 'outbound'],
      ],
    },
    // The first observed request loads timing, which registers itself.
    late: { server: ['timing'] },
    // Optional peers; only their types at the top level (pack:check imports every entry without them).
    packages: ['@opentelemetry/api'],
    pure: ['admission', 'errors', 'linked-list', 'options', 'record'],
  },
  'packages/lab': {
    may: {
      'node-version': [],
      signals: [],
      'user-error': [],
      words: [],
      'nearest-name': [],
      'write-whole': [],
      'private-folder': ['user-error'],
      durations: ['user-error'],
      terminal: [],
      progress: ['load', 'report', 'durations', 'terminal'],
      'option-values': ['user-error'],
      'command-line': ['user-error'],
      numbers: [],
      load: ['user-error', 'words'],
      processes: ['user-error'],
      report: ['load', 'processes', 'durations', 'words'],
      launch: ['load', 'processes', 'user-error'],
      results: ['load', 'report', 'launch', 'durations', 'user-error', 'words'],
      audit: [
        ...['processes', 'report', 'launch', 'command-line', 'durations', 'progress'],
        ...['option-values', 'private-folder', 'user-error', 'words', 'write-whole'],
      ],
      experiment: ['load', 'processes', 'report', 'launch', 'durations', 'private-folder', 'progress', 'user-error'],
      attack: [
        ...['load', 'report', 'durations', 'nearest-name', 'progress'],
        ...['option-values', 'signals', 'user-error', 'words'],
      ],
      melt: [
        ...['load', 'processes', 'report', 'launch', 'experiment', 'command-line', 'durations', 'progress'],
        ...['option-values', 'private-folder', 'user-error', 'words'],
      ],
      compare: ['load', 'report', 'results', 'launch', 'experiment', 'user-error', 'words'],
      live: [...['load', 'report', 'launch', 'experiment', 'melt'], ...['durations', 'option-values', 'user-error']],
      scenarios: ['load', 'report', 'launch', 'experiment', 'melt', 'user-error'],
      commands: [
        ...['attack', 'numbers', 'audit', 'load', 'report', 'results', 'compare', 'launch', 'experiment', 'melt'],
        ...['scenarios', 'live', 'command-line', 'durations', 'nearest-name', 'progress', 'terminal'],
        ...['option-values', 'signals', 'user-error', 'words', 'write-whole'],
      ],
      main: ['commands', 'terminal', 'user-error'],
      cli: ['node-version', 'signals', 'main'],
      index: ['load', 'report', 'results'],
    },
    packages: ['ajv', 'commander', 'meltproof'],
    pure: [],
  },
}

for (const [root, rules] of Object.entries(RULES)) {
  const source = join(root, 'src')
  for (const file of globSync(`${source}/**/*.ts`).sort()) {
    test(`${file} imports only what it may`, () => {
      const unit = unitOf(relative(source, file))
      const may = rules.may[unit]
      assert.ok(may, `${unit} has no place in the import order; give it one in test/imports.test.ts`)
      const text = readFileSync(file, 'utf8')
      const early = new Set(earlyImportsOf(text))
      for (const specifier of importsOf(text)) {
        if (specifier.startsWith('.')) {
          const target = relative(resolve(source), resolve(dirname(file), specifier))
          assert.ok(!target.startsWith('..'), `${specifier} leaves the package; import it by its name`)
          const imported = unitOf(target)
          const isLate = !early.has(specifier) && rules.late?.[unit]?.includes(imported)
          if (imported !== unit && !isLate)
            assert.ok(may.includes(imported), `${unit} must not import ${imported} (${specifier})`)
        } else if (specifier.startsWith('node:')) {
          assert.ok(!rules.pure.includes(unit), `${unit} is pure and must not import ${specifier}`)
        } else {
          const name = specifier.startsWith('@') ? specifier.split('/').slice(0, 2).join('/') : specifier.split('/')[0]!
          assert.ok(rules.packages.includes(name), `${root} must not import the package ${name}`)
        }
      }
    })
  }
}

/** The parts of server/ in the order of a request: each may import those before it. Other files assemble them. */
const SERVER_PARTS = ['guard', 'connection', 'request', 'response', 'shed', 'in-service', 'gate', 'handler', 'operate']

test('the parts of server/ import in one direction', () => {
  const server = 'packages/meltproof/src/server'
  for (const file of globSync(`${server}/**/*.ts`)) {
    const place = SERVER_PARTS.indexOf(unitOf(relative(server, file)))
    if (place === -1) {
      assert.equal(dirname(file), server, `${file} lies in a folder without a place in the order`)
      continue
    }
    for (const specifier of earlyImportsOf(readFileSync(file, 'utf8'))) {
      const target = relative(server, join(dirname(file), specifier))
      if (!specifier.startsWith('.') || target.startsWith('..')) continue
      const imported = SERVER_PARTS.indexOf(unitOf(target))
      assert.ok(imported !== -1 && imported <= place, `${file} must not import ${specifier}`)
    }
  }
})

test('no file of the repository imports itself through others', () => {
  const files = globSync(['packages/*/*/**/*.{ts,js}', '{bench,scripts,test,examples}/**/*.{ts,js,mjs}'], {
    exclude: ['**/{node_modules,dist}/**'],
  })
  const imported = (file: string): string[] =>
    earlyImportsOf(readFileSync(file, 'utf8')).flatMap(name => (name.startsWith('.') ? join(dirname(file), name) : []))
  assert.ok(files.length > 500, `${files.length} files`)
  assert.deepEqual(circlesOf(new Map(files.map(file => [file, imported(file)]))), [])
})

test('circlesOf() finds a circle, without files that only point to it', () => {
  const graph = { a: ['b'], b: ['c', 'd'], c: ['b'], d: ['e'], e: [], f: ['a', 'f'] }
  assert.deepEqual(circlesOf(new Map(Object.entries(graph))), [['b', 'c']])
})

test('only clock.ts of the runtime reads the time', () => {
  const offenders = globSync('packages/meltproof/src/**/*.ts').filter(
    file =>
      !file.endsWith('/clock.ts') && /\bDate\.now\(|\bnew Date\(|\bperformance\.now\(|\bhrtime\b/.test(code(file)),
  )
  assert.deepEqual(offenders, [])
})

test('timers of the runtime come from node:timers, because the tests of an app may fake the global ones', () => {
  // The source of the watcher runs in another thread.
  const others = ['packages/meltproof/src/culprit/watcher.ts']
  const offenders = globSync('packages/meltproof/src/**/*.ts').filter(
    file =>
      /(?<![\w.])(?:set|clear)(?:Timeout|Interval|Immediate)\(/.test(code(file)) &&
      !/ from 'node:timers'/.test(code(file)),
  )
  assert.deepEqual(offenders, others)
})

/** The import cycles of a graph. Cycles that share a file are one group. */
function circlesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const circles: string[][] = []
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const visit = (file: string): number => {
    order.set(file, order.size)
    lowest.set(file, order.get(file)!)
    open.push(file)
    for (const next of imports.get(file) ?? []) {
      const seen = order.has(next) ? (open.includes(next) ? order.get(next)! : Number.POSITIVE_INFINITY) : visit(next)
      lowest.set(file, Math.min(lowest.get(file)!, seen))
    }
    if (lowest.get(file) === order.get(file)) {
      const circle = open.splice(open.indexOf(file))
      if (circle.length > 1) circles.push(circle.sort())
    }
    return lowest.get(file)!
  }
  for (const file of imports.keys()) if (!order.has(file)) visit(file)
  return circles
}

/** The folder below src, or the name of a file directly in src. */
function unitOf(path: string): string {
  const [first, ...rest] = path.split('/')
  return rest.length > 0 ? first! : first!.replace(/\.[jt]s$/, '')
}
