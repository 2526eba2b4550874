/**
 * V8 does not interrupt native code: JSON, files, hashes, addons. The main thread samples its stack only when native
 * code returns, when the app's code may be some lines further on. So such functions are replaced by wrappers. When the
 * function returns, its wrapper checks whether the watcher asked for a sample during the call; if so, the caller is the
 * culprit. This costs two reads of shared memory per call.
 */
import { fstatSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { isLoaded } from '../loaded.ts'
import { type Method, replaceMethod } from '../replace-method.ts'
import { quietly } from '../warnings.ts'
import { type Caught, noticeAddonCalls, watchAddons } from './addon-calls.ts'
import { TOKEN } from './shared-words.ts'

/** Native methods that may take long, by module. Modules that are not loaded are not patched. */
const NATIVE = {
  fs: [
    ...['readFileSync', 'writeFileSync', 'appendFileSync', 'writeSync', 'readSync', 'copyFileSync', 'cpSync'],
    ...['readdirSync', 'rmSync', 'fsyncSync', 'fdatasyncSync', 'statSync', 'openSync'],
  ],
  crypto: [
    ...['pbkdf2Sync', 'scryptSync', 'hkdfSync', 'generateKeyPairSync', 'generatePrimeSync', 'checkPrimeSync', 'hash'],
    ...['randomBytes', 'randomFillSync', 'argon2Sync'],
  ],
  zlib: [
    ...['deflateSync', 'inflateSync', 'gzipSync', 'gunzipSync', 'deflateRawSync', 'inflateRawSync', 'unzipSync'],
    ...['brotliCompressSync', 'brotliDecompressSync', 'zstdCompressSync', 'zstdDecompressSync'],
  ],
  child_process: ['execSync', 'execFileSync', 'spawnSync'],
  v8: ['serialize', 'deserialize', 'writeHeapSnapshot'],
} as const

/** Methods of objects that crypto returns. */
const CRYPTO_CLASSES = { Hash: ['update'], Hmac: ['update'], Sign: ['sign', 'update'], Verify: ['verify', 'update'] }

/** Returns a function that restores the methods. */
export function watchSyncCalls(words: Int32Array, caught: Caught): () => void {
  const undo = [watchJson('parse', words, caught), watchJson('stringify', words, caught)]
  const watched = (host: object, name: string, what: string): void => {
    // The wrapper need not know whether it is switched off: it always passes calls through.
    undo.push(replaceMethod(host, name, () => noticing((host as Record<string, Method>)[name]!, what, words, caught)))
  }
  for (const [module, names] of Object.entries(NATIVE)) {
    if (!isLoaded(module)) continue
    const host = process.getBuiltinModule(`node:${module}`) as object
    for (const name of names) if (name in host) watched(host, name, `${module}.${name}`)
  }
  if (isLoaded('crypto')) {
    const classes = process.getBuiltinModule('node:crypto') as unknown as Record<string, { prototype: object }>
    for (const [name, methods] of Object.entries(CRYPTO_CLASSES)) {
      for (const method of methods) watched(classes[name]!.prototype, method, `${name.toLowerCase()}.${method}`)
    }
  }
  for (const name of ['log', 'info', 'debug', 'warn', 'error']) watched(console, name, `console.${name}`)
  if (waitsForWrites(1)) watched(process.stdout, 'write', 'process.stdout.write')
  if (waitsForWrites(2)) watched(process.stderr, 'write', 'process.stderr.write')
  watchAddons()
  undo.push(noticeAddonCalls(words, caught))
  syncBuiltinESMExports()
  return () => {
    for (const each of undo) each()
    syncBuiltinESMExports()
  }
}

/**
 * True for a terminal or a file, where writes block. To pipes and sockets Node usually writes without blocking. Reading
 * `process.stdout` would make those non-blocking, which affects an app that writes to the descriptor itself.
 */
function waitsForWrites(fd: number): boolean {
  const stat = quietly(() => fstatSync(fd))
  return stat !== undefined && !stat.isFIFO() && !stat.isSocket()
}

function noticing(original: Method, what: string, words: Int32Array, caught: Caught): Method {
  return function noticingCall(this: unknown, ...args: unknown[]): unknown {
    const before = words[TOKEN]
    const result = Reflect.apply(original, this, args)
    if (words[TOKEN] !== before) caught(what, before!, noticingCall)
    return result
  }
}

/** The wrapper has fixed parameters, which is faster: apps call these two methods more often than the others. */
function watchJson(name: 'parse' | 'stringify', words: Int32Array, caught: Caught): () => void {
  const original = JSON[name] as unknown as Method
  const noticingJson = (value: unknown, second: unknown, third: unknown): unknown => {
    const before = words[TOKEN]
    const result = original(value, second, third)
    if (words[TOKEN] !== before) {
      const text = name === 'parse' ? value : result
      const size = typeof text === 'string' && text.length >= 1e6 ? ` of ${Math.round(text.length / 1e6)} MB` : ''
      caught(`JSON.${name}${size}`, before!, noticingJson)
    }
    return result
  }
  return replaceMethod(JSON, name, () => noticingJson)
}
