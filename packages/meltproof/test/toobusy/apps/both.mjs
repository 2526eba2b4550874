/** One instance, however it is loaded: settings made through one are seen by the other. */
import { createRequire } from 'node:module'
import toobusy from 'meltproof/toobusy'
import check from './check.cjs'

const required = createRequire(import.meta.url)('meltproof/toobusy')
if (required !== toobusy) throw new Error('require() and import gave two instances')
check(required)
