/**
 * Bundles the JavaScript of packages/meltproof: one file for each entry, and shared files for parts that several
 * entries need. Each part exists once, so that a process has one copy of its state whichever entries it loads. Loading
 * protect() as 160 files takes four times as long as loading it as two.
 *
 * Everything that `meltproof` and `meltproof/limiter` share is one file, and the rest of what `meltproof` needs is
 * another. esbuild's own splitting would write a file for each set of entries, which is about fifty files.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'

const folder = resolve(import.meta.dirname, '../packages/meltproof')
const source = join(folder, 'src')
const dist = join(folder, 'dist')

/** Files that register/servers.ts and the core load on first use. */
const LOADED_LATER = [
  'admin/admin',
  'admin/probes',
  'culprit/addon-calls',
  'haproxy/agent-of-all',
  'observe/reporter',
  'outbound/zero-code',
  'register/drain-on-signal',
  'register/servers',
  'timing/observed',
]

const OPTIONS = {
  absWorkingDir: folder,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node22.12',
  external: ['@opentelemetry/api'],
  metafile: true,
  sourcemap: 'linked',
  write: false,
  outdir: 'dist',
  outbase: 'src',
  chunkNames: 'shared/[name]-[hash]',
} as const satisfies BuildOptions

/** One output file, made of the source `files`, with parts that several other outputs need. */
interface Shared {
  readonly name: string
  readonly files: ReadonlySet<string>
  /** The members of `files` that other source files import. */
  readonly wanted: Set<string>
}

const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
}
const entries = Object.values(manifest.exports).flatMap(entry =>
  typeof entry === 'string' ? [] : [relative('dist', entry.default).replace(/\.js$/, '')],
)
const builtins = builtinNames()
const { metafile } = await build({
  ...OPTIONS,
  entryPoints: entries.map(sourceOf),
  plugins: [builtinModules()],
})
const protect = reachedFrom('index')
const limiter = reachedFrom('limiter/index')
const isEntry = new Set(entries.map(sourceOf))
const inBoth = [...protect].filter(file => limiter.has(file) && !isEntry.has(file))
const inProtect = [...protect].filter(file => !limiter.has(file) && !isEntry.has(file))
const limiting: Shared = { name: 'limiting', files: new Set(inBoth), wanted: new Set() }
const serving: Shared = { name: 'serving', files: new Set(inProtect), wanted: new Set() }
const exported = await exportedNames([...inBoth, ...inProtect])

for (const file of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
  if (/(?<!\.d)\.(?:js|js\.map)$/.test(file) && !file.startsWith('cjs')) rmSync(join(dist, file))
}
await write([...entries.filter(entry => entry !== 'register'), ...LOADED_LATER].map(sourceOf), [limiting, serving])
await writeShared(serving, [limiting])
await writeShared(limiting, [])
await writeRegister()

/** Writes the entries. The parts in `shared` become separate files. */
async function write(
  entryPoints: string[],
  shared: readonly Shared[],
  more: Partial<BuildOptions> = {},
): Promise<void> {
  const { outputFiles } = await build({
    ...OPTIONS,
    entryPoints,
    splitting: true,
    plugins: [sharedFiles(shared), builtinModules()],
    ...more,
  })
  for (const { path, text } of outputFiles!) {
    const pathTo = (file: string): string => {
      const way = relative(dirname(path), join(dist, file))
      return JSON.stringify(way.startsWith('.') ? way : `./${way}`)
    }
    const withPaths = text
      .replace(/"@shared\/(\w+)"/g, (_, name) => pathTo(`shared/${name}.js`))
      // All paths in a source map look like these, and must not change.
      .replace(path.endsWith('.map') ? /$^/ : /"(?:\.{1,2}\/)+([\w/-]+)\.ts"/g, (_, part) =>
        pathTo(`${loadedLater(part)}.js`),
      )
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, withPaths)
  }
}

/** Finds the part or entry that ends with `path`, an import path without its leading `../`. */
function loadedLater(path: string): string {
  const part = [...LOADED_LATER, ...entries].find(each => each === path || each.endsWith(`/${path}`))
  if (part === undefined) throw new Error(`${path}.ts is loaded later; add it to LOADED_LATER`)
  return part
}

async function writeShared(shared: Shared, others: readonly Shared[]): Promise<void> {
  const lines = [...shared.wanted].map(file => `export { ${namesIn(file, false)} } from './${file}'`)
  const stdin = { contents: lines.join('\n'), resolveDir: folder, sourcefile: `${shared.name}.ts` }
  await write([], others, {
    entryPoints: undefined,
    stdin,
    splitting: false,
    outfile: `dist/shared/${shared.name}.js`,
    outdir: undefined,
  } as never)
}

/**
 * Writes register as one file that shares nothing, because most processes load only this file. Also writes a CommonJS
 * version, with which require() needs no ES modules.
 */
async function writeRegister(): Promise<void> {
  const alone = { splitting: false, plugins: [] }
  await write([sourceOf('register')], [], alone)
  await write([sourceOf('register')], [], {
    ...alone,
    format: 'cjs',
    outdir: 'dist/cjs',
    define: { 'import.meta.url': 'registerFile' },
    banner: { js: 'const registerFile = __filename' },
  })
}

/** Returns `a as admission_gate$a, ...`, or the reverse. The prefix keeps exports unique within a shared file. */
function namesIn(file: string, back: boolean): string {
  const prefix = file
    .replace(/^src\//, '')
    .replace(/\.ts$/, '')
    .replace(/\W/g, '_')
  return exported
    .get(file)!
    .map(name => (back ? `${prefix}$${name} as ${name}` : `${name} as ${prefix}$${name}`))
    .join(', ')
}

function sharedFiles(shared: readonly Shared[]): Plugin {
  const holder = (file: string): Shared | undefined => shared.find(({ files }) => files.has(file))
  return {
    name: 'shared files',
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /^\./ }, ({ path, resolveDir, kind, importer }) => {
        if (kind === 'dynamic-import') return { path, external: true }
        const file = relative(folder, join(resolveDir, path))
        const found = kind === 'entry-point' ? undefined : holder(file)
        if (found === undefined) return undefined
        found.wanted.add(file)
        return { path: file, namespace: 'shared', pluginData: found.name, ...onlyFor(importer) }
      })
      onLoad({ filter: /.*/, namespace: 'shared' }, ({ path, pluginData }) => ({
        contents: `export { ${namesIn(path, true)} } from '@shared/${pluginData}'`,
      }))
      onResolve({ filter: /^@shared\// }, ({ path }) => ({ path, external: true }))
    },
  }
}

/**
 * Loads Node's own modules without `import`, because `import` evaluates all exports of a module: `node:http` has a
 * getter for WebSocket that loads undici, which costs 30 ms and 15 MB.
 */
function builtinModules(): Plugin {
  return {
    name: 'modules of Node',
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /^node:/ }, ({ path, importer }) => ({ path, namespace: 'builtin', ...onlyFor(importer) }))
      onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
        contents: `
const module = /* @__PURE__ */ ${builtinCode(path)}
export default module
${[...(builtins.get(path) ?? [])].map(name => `export const ${name} = /* @__PURE__ */ (() => module.${name})()`).join('\n')}`,
      }))
    },
  }
}

/** Prefers the timers that register.ts stored, because a test of the app may have faked those of node:timers since. */
function builtinCode(name: string): string {
  const code = `process.getBuiltinModule('${name}')`
  return name === 'node:timers' ? `(() => process[Symbol.for('meltproof.timers')] ?? ${code})()` : code
}

/** These modules hold only re-exports. With one copy per importer, esbuild makes no separate files for them. */
function onlyFor(importer: string): { suffix: string; sideEffects: false } {
  return { suffix: `?${relative(folder, importer)}`, sideEffects: false }
}

/** The names that the source imports from each module of Node. */
function builtinNames(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const file of readdirSync(source, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue
    const text = readFileSync(join(source, file), 'utf8')
    for (const [, names, module] of text.matchAll(/^import (?!type)[^'{]*\{([^}]*)\} from '(node:[^']+)'/gm)) {
      const known = found.get(module!) ?? new Set()
      found.set(module!, known)
      for (const name of names!.split(',')) {
        const [imported = ''] = name.trim().split(' as ')
        if (imported !== '' && !imported.startsWith('type ')) known.add(imported)
      }
    }
  }
  return found
}

/** The exports of each source file, without types. */
async function exportedNames(files: string[]): Promise<Map<string, string[]>> {
  const built = await build({ ...OPTIONS, bundle: false, external: [], sourcemap: false, entryPoints: files })
  return new Map(
    Object.values(built.metafile.outputs).map(({ entryPoint, exports }) => [entryPoint!, exports] as const),
  )
}

function sourceOf(entry: string): string {
  return `src/${entry}.ts`
}

function reachedFrom(entry: string, { inputs }: Pick<Metafile, 'inputs'> = metafile): Set<string> {
  const reached = new Set<string>()
  const visit = (file: string): void => {
    if (reached.has(file) || !file.startsWith('src/')) return
    reached.add(file)
    for (const { path, kind } of inputs[file]!.imports) if (kind !== 'dynamic-import') visit(path)
  }
  visit(sourceOf(entry))
  return reached
}
