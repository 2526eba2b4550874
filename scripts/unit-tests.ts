/**
 * Which test files are unit tests: those that need no socket, no process, no other thread and no time to pass, and
 * neither does anything they load. Read from the imports, so that nobody keeps a list. Pure but for reading files.
 */
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Modules of Node, without `node:`, that reach out of the process, or wait. */
const REACH_OUT: ReadonlySet<string> = new Set([
  ...[
    'child_process',
    'cluster',
    'dgram',
    'dns',
    'http',
    'http2',
    'https',
    'inspector',
    'net',
    'tls',
    'worker_threads',
  ],
  ...['timers', 'timers/promises'],
])
/** The only one of npm that unit tests load. */
const PACKAGES: ReadonlySet<string> = new Set(['fast-check'])
/** Modules of Node that a test needs to run at all, and to read what it judges. */
const OF_ALL_TESTS: ReadonlySet<string> = new Set(['test', 'assert', 'assert/strict', 'fs', 'path'])
const SIMULATION = /(?:^|\/)sim\//
/** In a test's own files. What is under test may well call them: then a unit test gives it others. */
const WAITS = /(?<![.\w])(?:setTimeout|setInterval|fetch)\(|\bAtomics\.wait\(/

interface Imported {
  readonly specifier: string
  /** Gone when the types are. */
  readonly isType: boolean
}

/** Undefined for a unit test; else the first reason why it is none, for people. */
export function whyNotUnit(testFile: string): string | undefined {
  const loadedBy = new Map<string, string | undefined>([[testFile, undefined]])
  // Grows while it is walked.
  for (const [file] of loadedBy) {
    const text = withoutComments(readFileSync(file, 'utf8'))
    if (/(?:^|\/)test\//.test(file) && WAITS.test(text)) return `${file} waits`
    for (const { specifier, isType } of importsOf(text)) {
      if (isType) continue
      const path = specifier.startsWith('.') ? join(dirname(file), specifier) : undefined
      if (path !== undefined) {
        if (!loadedBy.has(path)) loadedBy.set(path, file)
      } else if (specifier.startsWith('node:')) {
        if (REACH_OUT.has(specifier.slice('node:'.length))) return [...chain(file, loadedBy), specifier].join(' > ')
      } else if (!PACKAGES.has(specifier)) return [...chain(file, loadedBy), specifier].join(' > ')
    }
    // What it asks for at run time is not seen here.
    if (/\bcreateRequire\b/.test(text)) return `${file} requires`
  }
  return undefined
}

/**
 * Long tests below packages/meltproof/test that CI runs on one Node only, because Node's version does not decide what they
 * show. What Node hands them does, and other tests of the same folders show that on every Node.
 */
const ON_ONE_NODE: readonly RegExp[] = [
  // Late statements in real databases. Each driver's main test runs on every Node.
  /^databases\/(?:cleanup-|late-queries|recorded|histories\/)/,
  // What a limit learns from real requests and of real origins, and whom it treats fairly.
  /^(?:outbound\/adaptive|server\/(?:client-key|long-requests|random-paths))/,
  // What other programs read: HAProxy, Prometheus.
  /^(?:haproxy\/|observe\/(?:exposition|openmetrics|prometheus)\.)/,
  /^fuzz\//,
]

/**
 * Whether a test file shows the same on every Node: a unit test that calls Node no further than every test does, or a
 * simulation, whose clock is its own; what shows that a check finds faults (`finds.test.ts`), and {@link ON_ONE_NODE}.
 */
export function showsTheSame(testFile: string): boolean {
  const inFolder = testFile.replace(/^packages\/meltproof\/test\//, '')
  if (basename(testFile) === 'finds.test.ts' || ON_ONE_NODE.some(pattern => pattern.test(inFolder))) return true
  if (whyNotUnit(testFile) !== undefined) return false
  const files = [...filesLoadedBy(testFile)]
  return files.some(file => SIMULATION.test(file)) || !files.some(callsNode)
}

function callsNode(file: string): boolean {
  return runtimeImportsOf(file).some(name => name.startsWith('node:') && !OF_ALL_TESTS.has(name.slice('node:'.length)))
}

/** The file and all files of this repository that it loads, directly or not. */
export function filesLoadedBy(file: string): ReadonlySet<string> {
  const found = new Set([file])
  // Grows while it is walked.
  for (const each of found) {
    for (const name of runtimeImportsOf(each)) if (name.startsWith('.')) found.add(join(dirname(each), name))
  }
  return found
}

function runtimeImportsOf(file: string): string[] {
  const imports = importsOf(withoutComments(readFileSync(file, 'utf8')))
  return imports.flatMap(({ specifier, isType }) => (isType ? [] : [specifier]))
}

/** Static and dynamic imports with a plain name. */
function importsOf(text: string): Imported[] {
  const found: Imported[] = []
  for (const [, type, names = '', specifier] of text.matchAll(
    /^\s*(?:import|export)\s+(type\s)?(?:([^'";]*?)\bfrom\s+)?'([^'\n]+)'/gm,
  )) {
    const onlyTypes = /^\s*\{(?:\s*type\s[^,}]+,?)+\s*\}\s*$/.test(names)
    found.push({ specifier: specifier!, isType: type !== undefined || onlyTypes })
  }
  for (const [, specifier] of text.matchAll(/\bimport\(\s*'([^'\n]+)'/g)) {
    found.push({ specifier: specifier!, isType: false })
  }
  return found
}

function chain(file: string, loadedBy: ReadonlyMap<string, string | undefined>): string[] {
  const before = loadedBy.get(file)
  return before === undefined ? [file] : [...chain(before, loadedBy), file]
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}
