/** Finds the code that made a call: the app's first frame in the stack, or else that of the nearest package. */
import { realpathSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Frame {
  readonly name: string
  /** A path, or `node:...`. */
  readonly file: string
  readonly line: number
}

export interface Site {
  /** `src/prices.js:14 (loadPrice)`; empty where no frame has a file. */
  readonly where: string
  /** True if a frame of the app itself was found, or of the package it was started from. */
  readonly own: boolean
  readonly throughMeltproof: boolean
}

/** In an async stack the caller may come after many frames of libraries. */
const STACK_FRAMES = 60
const MOST_KNOWN = 500

const observerFolder = import.meta.dirname + path.sep
const meltproofFolder = path.dirname(fileURLToPath(import.meta.resolve('meltproof'))) + path.sep

const main = process.argv[1]
/** If the app is run from node_modules, as by npx, its package counts as its own code. */
const appPackage = main === undefined ? undefined : packageOf(realPath(main))

const known = new Map<string, Site>()

/** `besides`: the called packages, whose frames are skipped. */
export function callSite(besides: readonly string[] = []): Site {
  const { stackTraceLimit, prepareStackTrace } = Error
  const here: { stack?: string } = {}
  Error.stackTraceLimit = STACK_FRAMES
  // A `prepareStackTrace` of the app may return anything.
  Error.prepareStackTrace = undefined as never
  try {
    Error.captureStackTrace(here, callSite)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    Error.prepareStackTrace = prepareStackTrace as never
  }
  const stack = String(here.stack)
  const before = known.get(stack)
  if (before !== undefined) return before
  const site = siteOf(framesOf(stack), besides)
  if (known.size < MOST_KNOWN) known.set(stack, site)
  return site
}

export function siteOf(frames: readonly Frame[], besides: readonly string[]): Site {
  const named = frames.filter(({ file }) => !file.startsWith('node:') && !file.startsWith(observerFolder))
  const others = named.filter(({ file }) => !file.startsWith(meltproofFolder))
  const owned = others.filter(isOwn)
  const [own] = owned
  const library = others.find(({ file }) => !besides.includes(packageOf(file) ?? ''))
  // A callback has no name, but its caller may have one.
  const name = owned.find(frame => frame.name !== '')?.name ?? ''
  return {
    where: textOf(own === undefined ? (library ?? others[0]) : { ...own, name }),
    own: own !== undefined,
    throughMeltproof: others.length < named.length,
  }
}

export function isOwn({ file }: Pick<Frame, 'file'>): boolean {
  const isOurs = file.startsWith(observerFolder) || file.startsWith(meltproofFolder)
  return path.isAbsolute(file) && !isOurs && packageOf(file) === appPackage
}

export function textOf(frame: Frame | undefined): string {
  if (frame === undefined) return ''
  const name = frame.name === '' ? '' : ` (${frame.name})`
  return `${shortPath(frame.file)}:${frame.line}${name}`
}

/** Parses lines such as `at async load (file:///app/src/a.js:3:7)` or `at /app/a.js:3:7`. */
export function framesOf(stack: string): Frame[] {
  return stack.split('\n').flatMap(line => {
    const found = /^\s+at (?:async )?(?:(.+?) \()?((?:file:\/\/|node:|[A-Za-z]:\\|\/).*?):(\d+):\d+\)?$/.exec(line)
    if (found === null) return []
    const [, name = '', file, at] = found
    const plain = name.replace(/^(?:new|Object\.) ?/, '').replace(/^<anonymous>$/, '')
    return [{ name: plain, file: pathOf(file!), line: Number(at) }]
  })
}

export function pathOf(urlOrPath: string): string {
  return urlOrPath.startsWith('file://') ? fileURLToPath(urlOrPath) : urlOrPath
}

/** The path relative to the working folder, or to its package. */
function shortPath(file: string): string {
  const inside = file.split(/[\\/]node_modules[\\/]/).at(-1)!
  if (inside !== file) return inside
  const relative = path.relative(process.cwd(), file)
  return relative.startsWith('..') ? file : relative
}

/** Undefined outside of node_modules. */
function packageOf(file: string): string | undefined {
  const [, ...inside] = file.split(/[\\/]node_modules[\\/]/)
  const [first, second] = inside.at(-1)?.split(/[\\/]/) ?? []
  return first?.startsWith('@') ? `${first}/${second}` : first
}

function realPath(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file // `node server` runs server.js, so no file has the given name.
  }
}
