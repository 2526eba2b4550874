/**
 * Finds the test files that are unit tests: neither the file nor anything it loads needs a socket, a process, another
 * thread or elapsed time. Derived from the imports, so that no list has to be maintained. Pure except for reading
 * files.
 */
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Modules of Node, without `node:`, that reach outside the process, or wait. */
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
/** The only npm package that unit tests load. */
const PACKAGES: ReadonlySet<string> = new Set(['fast-check'])
/** Modules of Node that a test needs to run, and to read the files it checks. */
const OF_ALL_TESTS: ReadonlySet<string> = new Set(['test', 'assert', 'assert/strict', 'fs', 'path'])
const SIMULATION = /(?:^|\/)sim\//
/** Calls that wait. Only the code under test may contain them, because a unit test passes fakes to it. */
const WAITS = /(?<![.\w])(?:setTimeout|setInterval|fetch)\(|\bAtomics\.wait\(/

interface Imported {
  readonly specifier: string
  /** Removed together with the types. */
  readonly isType: boolean
}

/** Undefined for a unit test; otherwise a readable reason why it is not one. */
export function whyNotUnit(testFile: string): string | undefined {
  const loadedBy = new Map<string, string | undefined>([[testFile, undefined]])
  // The map grows during the loop.
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
    // Modules that the file requires at run time cannot be seen here.
    if (/\bcreateRequire\b/.test(text)) return `${file} requires`
  }
  return undefined
}

/**
 * Long tests below packages/meltproof/test that CI runs on one Node only, because their result does not depend on the
 * version of Node. Other tests of the same folders cover the interfaces to Node on every version.
 */
const ON_ONE_NODE: readonly RegExp[] = [
  // Late statements in real databases. The main test of each driver runs on every Node.
  /^databases\/(?:cleanup-|late-queries|recorded|histories\/)/,
  // Limits that learn from real requests and real origins, and fairness between clients.
  /^(?:outbound\/adaptive|server\/(?:client-key|long-requests|random-paths))/,
  // Output for other programs: HAProxy, Prometheus.
  /^(?:haproxy\/|observe\/(?:exposition|openmetrics|prometheus)\.)/,
  /^fuzz\//,
]

/**
 * Whether a test file has the same result on every Node. This holds for a unit test that imports only the modules of
 * Node in {@link OF_ALL_TESTS}, for a simulation, which has its own clock, for a test which proves that a check finds
 * faults (`finds.test.ts`), and for {@link ON_ONE_NODE}.
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

/** The file and all files of this repository that it loads, directly or indirectly. */
export function filesLoadedBy(file: string): ReadonlySet<string> {
  const found = new Set([file])
  // The set grows during the loop.
  for (const each of found) {
    for (const name of runtimeImportsOf(each)) if (name.startsWith('.')) found.add(join(dirname(each), name))
  }
  return found
}

function runtimeImportsOf(file: string): string[] {
  const imports = importsOf(withoutComments(readFileSync(file, 'utf8')))
  return imports.flatMap(({ specifier, isType }) => (isType ? [] : [specifier]))
}

/** Finds static and dynamic imports of literal names. */
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
