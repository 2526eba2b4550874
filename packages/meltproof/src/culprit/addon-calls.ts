/**
 * The functions that native addons export, as in sync-calls.ts. Most addons are loaded before the first server listens, so
 * meltproof/register loads this file, and no other of culprit/, as soon as it is loaded itself.
 */
import { type Method, replaceMethod } from '../replace-method.ts'
import { TOKEN } from './shared-words.ts'

/** Told by a call that has returned, during which the watcher asked after the question `before`. `self` is on the stack. */
export type Caught = (what: string, before: number, self: (...args: never[]) => unknown) => void

let isWatched = false
let words: Int32Array | undefined
let caught: Caught | undefined

/** Those of addons that are loaded from now on. */
export function watchAddons(): void {
  if (isWatched) return
  isWatched = true
  replaceMethod(process, 'dlopen', original => (...args) => {
    const result = original(...args)
    const { exports } = (args[0] ?? {}) as { exports?: unknown }
    if (typeof exports === 'object' && exports !== null) watchExports(exports)
    return result
  })
}

/** Returns what ends it. */
export function noticeAddonCalls(sharedWords: Int32Array, onCaught: Caught): () => void {
  words = sharedWords
  caught = onCaught
  return () => {
    words = undefined
  }
}

/** Classes stay as they are. */
function watchExports(exports: object): void {
  for (const [name, { value, writable }] of Object.entries(Object.getOwnPropertyDescriptors(exports))) {
    if (typeof value !== 'function' || writable !== true || isClass(value)) continue
    const apply = (target: Method, self: unknown, args: unknown[]): unknown => {
      const before = words?.[TOKEN]
      const result = Reflect.apply(target, self, args)
      if (words !== undefined && before !== undefined && words[TOKEN] !== before) caught?.(name, before, apply)
      return result
    }
    try {
      // A proxy is what the function is in everything else, as a constructor too.
      ;(exports as Record<string, unknown>)[name] = new Proxy(value as Method, { apply })
    } catch {
      // Then it stays unwatched.
    }
  }
}

function isClass({ prototype }: { prototype?: object }): boolean {
  return prototype !== undefined && Object.getOwnPropertyNames(prototype).length > 1
}
