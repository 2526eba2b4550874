/** A fresh toobusy-js and a fresh one of ours, each with state of its own. */
import { createRequire } from 'node:module'
import type { TooBusy } from '../../src/toobusy.ts'

const require = createRequire(import.meta.url)
const reference = require.resolve('toobusy-js/toobusy.js')
let loaded = 0

export const IMPLEMENTATIONS: readonly { readonly name: string; readonly load: () => Promise<TooBusy> }[] = [
  {
    name: 'toobusy-js',
    load: async () => {
      delete require.cache[reference]
      return require(reference) as TooBusy
    },
  },
  {
    name: 'meltproof/toobusy',
    load: async () => {
      // A query makes it another module to the loader.
      const module = (await import(`../../src/toobusy.ts?${loaded++}`)) as { default: TooBusy }
      return module.default
    },
  },
]
