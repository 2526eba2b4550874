/**
 * Preloaded by peer-suites.ts into the test files of a driver. With MELTPROOF_PEER_BOUND=on, it passes every client and
 * pool of the driver through `bound()`: it adds a line to the driver's files while they load, so the checkout stays
 * unchanged. In any case it resolves files that are imported as .js or .mjs and exist as .ts or .mts.
 */
import { createRequire, registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)
const dist = process.env.MELTPROOF_PEER_DIST ?? fileURLToPath(new URL('../../packages/meltproof/dist', import.meta.url))

/** The ends of the paths of the driver's files that make clients or pools. */
const FILES = {
  pg: [/\/packages\/pg\/lib\/client\.js$/, /\/pg-pool\/index\.js$/],
  mysql2: [/\/lib\/connection\.js$/, /\/lib\/pool\.js$/],
  ioredis: [/\/lib\/Redis\.ts$/],
}

const [driver, folder] = JSON.parse(process.env.MELTPROOF_PEER_SUITE)
const { bound } = require(`${dist}/cjs/databases/${driver}.js`)

globalThis[Symbol.for('meltproof.bind-every-client')] = Class =>
  new Proxy(Class, {
    construct(target, args, newTarget) {
      const client = Reflect.construct(target, args, newTarget)
      // mysql2 uses the same class for the connections of a pool and for those of a server.
      const own = driver !== 'mysql2' || (newTarget.name === target.name && args[0]?.config?.isServer !== true)
      return own ? bound(client) : client
    },
  })

const BIND = `globalThis[Symbol.for('meltproof.bind-every-client')]`

registerHooks({
  resolve(specifier, context, next) {
    try {
      return next(specifier, context)
    } catch (error) {
      if (!specifier.startsWith('.') || !/\.m?js$/.test(specifier)) throw error
      return next(specifier.replace(/js$/, 'ts'), context)
    }
  },
  load(url, context, next) {
    const loaded = next(url, context)
    const path = url.startsWith('file:') ? fileURLToPath(url) : url
    if (
      process.env.MELTPROOF_PEER_BOUND !== 'on' ||
      !path.startsWith(folder) ||
      !FILES[driver].some(file => file.test(path))
    )
      return loaded
    const source = String(loaded.source)
    return {
      ...loaded,
      source: path.endsWith('.ts')
        ? source.replace(/export default (\w+);/, `export default ${BIND}($1);`)
        : `${source}\nmodule.exports = ${BIND}(module.exports)\n`,
    }
  },
})
