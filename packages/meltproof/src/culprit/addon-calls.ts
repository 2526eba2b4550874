/**
 * Watches the functions that native addons export, as sync-calls.ts does for those of Node. Most addons are loaded
 * before the first server listens, so meltproof/register loads this file with the first addon, also in processes that
 * never listen. Therefore it must import nothing that loads a module of Node.
 */
import type { Method } from '../replace-method.ts'
import { TOKEN } from './shared-words.ts'

/**
 * Called after a native call during which the watcher asked for a sample. `before` is the last token before the call;
 * the caller is below `self` on the stack.
 */
export type Caught = (what: string, before: number, self: (...args: never[]) => unknown) => void

let isWatched = false
const watched = new WeakSet<object>()
let words: Int32Array | undefined
let caught: Caught | undefined

/** Watches addons that are loaded from now on. */
export function watchAddons(): void {
  if (isWatched) return
  isWatched = true
  const original = process.dlopen as Method
  process.dlopen = (...args: unknown[]): undefined => {
    Reflect.apply(original, process, args)
    watchAddon(args[0])
  }
}

/** Reports calls of addons to `onCaught` until the returned function is called. */
export function noticeAddonCalls(sharedWords: Int32Array, onCaught: Caught): () => void {
  words = sharedWords
  caught = onCaught
  return () => {
    words = undefined
  }
}

/**
 * Replaces the functions that an addon exports, but no classes.
 * @param loaded the first argument of `process.dlopen()`, whose exports are the addon's after the call
 */
export function watchAddon(loaded: unknown): void {
  const { exports } = (loaded ?? {}) as { exports?: unknown }
  if (typeof exports !== 'object' || exports === null || watched.has(exports)) return
  watched.add(exports)
  for (const [name, { value, writable }] of Object.entries(Object.getOwnPropertyDescriptors(exports))) {
    if (typeof value !== 'function' || writable !== true || isClass(value)) continue
    const apply = (target: Method, self: unknown, args: unknown[]): unknown => {
      const before = words?.[TOKEN]
      const result = Reflect.apply(target, self, args)
      if (words !== undefined && before !== undefined && words[TOKEN] !== before) caught?.(name, before, apply)
      return result
    }
    try {
      // A proxy behaves like the function in every other respect, also as a constructor.
      ;(exports as Record<string, unknown>)[name] = new Proxy(value as Method, { apply })
    } catch {
      // This export is not watched.
    }
  }
}

function isClass({ prototype }: { prototype?: object }): boolean {
  return prototype !== undefined && Object.getOwnPropertyNames(prototype).length > 1
}
