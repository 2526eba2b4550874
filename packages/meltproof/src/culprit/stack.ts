/** Reads the stack of the running code: the frames of the app, and the function that the innermost one had called. */
import { realpathSync } from 'node:fs'
import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { quietly } from '../warnings.ts'
import type { Frame, Sample } from './place.ts'

/** Deeper stacks are rare, and their outermost frames are Node's. */
const MOST_FRAMES = 200

/** Undefined in a CommonJS bundle, where `import.meta.url` is missing. */
const FOLDER = quietly(() => fileURLToPath(new URL('..', import.meta.url)))
/** meltproof's own frames are never the culprit. In an app bundled into one file they cannot be distinguished. */
const OURS = FOLDER !== undefined && /[\\/]meltproof[\\/](?:src|dist)[\\/]$/.test(FOLDER) ? FOLDER : undefined
const LIBRARIES = `${sep}node_modules${sep}`
/** Node's loader calls the main module too, but its code counts as the app's, not as loading a module. */
const MAIN = quietly(() => realpathSync(process.argv[1]!))

type Stack = Pick<Sample, 'frames' | 'cause'>

/** The frames below `above`. The app's own stack format, if any, is preserved. */
export function stackBelow(above: (...args: never[]) => unknown): Stack {
  const { stackTraceLimit, prepareStackTrace } = Error
  const holder: { stack?: unknown } = {}
  try {
    Error.stackTraceLimit = MOST_FRAMES
    Error.prepareStackTrace = (_, sites) => sites
    Error.captureStackTrace(holder, above)
    return read(holder.stack as NodeJS.CallSite[])
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    // Deleted if it was absent: Node distinguishes that from an assigned `undefined`.
    if (prepareStackTrace === undefined) delete (Error as { prepareStackTrace?: unknown }).prepareStackTrace
    else Error.prepareStackTrace = prepareStackTrace
  }
}

function read(sites: readonly NodeJS.CallSite[]): Stack {
  const own: Frame[] = []
  const libraries: Frame[] = []
  let called: string | undefined
  let innermost: Frame | undefined
  let loads = false
  // The loop starts with the outermost frame.
  for (let i = sites.length - 1; i >= 0; i--) {
    const site = sites[i]!
    const file = pathOf(site.getFileName())
    if (file === undefined || file.startsWith('node:')) {
      loads ||= file?.startsWith('node:internal/modules') === true
      if (innermost !== undefined) called ??= causeOf(site, file)
      continue
    }
    if (OURS !== undefined && file.startsWith(OURS)) continue
    const frame = {
      name: nameOf(site),
      file,
      line: site.getLineNumber() ?? 0,
      column: site.getColumnNumber() ?? 1,
      loads: loads && file !== MAIN,
    }
    loads = false
    const library = packageOf(file)
    if (library === undefined) {
      own.push(frame)
      innermost = frame
      called = undefined
    } else {
      libraries.push(frame)
      if (own.length > 0) called = `in ${library}`
    }
  }
  return { frames: own.length > 0 ? own : libraries, cause: called }
}

/** Undefined for code without a file: builtins of V8, `eval` and templates. */
function pathOf(file: string | null | undefined): string | undefined {
  if (!file) return undefined
  return file.startsWith('file:') ? (quietly(() => fileURLToPath(file)) ?? file) : file
}

function nameOf(site: NodeJS.CallSite): string {
  const name = site.getFunctionName() ?? site.getMethodName() ?? ''
  return /^(?:Object\.)?<anonymous>$/.test(name) ? '' : name.replace(/^(?:Object|Module)\./, '')
}

/** Describes a function of Node or V8 that a frame of the app has called. */
function causeOf(site: NodeJS.CallSite, file: string | undefined): string | undefined {
  const name = site.getFunctionName() ?? ''
  if (file === undefined) return quietly(() => site.getTypeName()) === 'RegExp' ? 'regular expression' : undefined
  if (file.startsWith('node:internal/console')) return 'console'
  if (file.startsWith('node:internal/modules')) return 'loading a module'
  if (/Sync$/.test(name)) return name
  return undefined
}

function packageOf(file: string): string | undefined {
  const at = file.lastIndexOf(LIBRARIES)
  if (at === -1) return undefined
  const [first = '', second = ''] = file.slice(at + LIBRARIES.length).split(sep)
  return first.startsWith('@') ? `${first}/${second}` : first
}
