/** A job without a server. Logs LINES lines as fast as it can; with none, prints the loaded modules. */
const lines = Number(process.env.LINES ?? 0)
for (let i = 0; i < lines; i++) {
  console.log(`line ${i}`)
  if (lines === Number.POSITIVE_INFINITY && i % 1000 === 0) await new Promise(setImmediate)
}
if (lines === 0) console.log(JSON.stringify(process.moduleLoadList))
