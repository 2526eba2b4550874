/** Logs BEFORE short lines, one line of 10 MB and, when they are written, another short one. */
import { once } from 'node:events'

const { BEFORE = '1' } = process.env
const out = process.stdout
for (let i = 0; i < Number(BEFORE); i++) console.log('before')
console.log('x'.repeat(10_000_000))
process.send?.('logged')
if (out.writableNeedDrain) await once(out, 'drain')
console.log('after')
