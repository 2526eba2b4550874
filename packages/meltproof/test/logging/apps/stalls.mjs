/** Logs LINES numbered lines in one turn, reports that, and stalls for STALL_MS or for ever. */
const { LINES, STALL_MS = 'Infinity' } = process.env
const fill = 'x'.repeat(100)
for (let i = 0; i < Number(LINES); i++) console.log(`line ${String(i).padStart(8, '0')} ${fill}`)
process.send('logged')
const until = performance.now() + Number(STALL_MS)
while (performance.now() < until);
setInterval(() => undefined, 1000)
