/** Calls install(): options, figures, uninstalling. Sends the results to its parent. */
import fs from 'node:fs'
import { install } from 'meltproof/stdout'

const found = {}
const { writeSync } = fs
const uninstall = install({ bufferBytes: 65_536 })
const listening = () => ['SIGTERM', 'SIGINT'].map(signal => process.listenerCount(signal))
found.listeners = [listening()]
found.same = install() === uninstall && install({ bufferBytes: 100_000 }) === uninstall
for (let i = 0; i < 5000; i++) console.log(`line ${String(i).padStart(8, '0')} ${'x'.repeat(100)}`)
found.listeners.push(listening())
await new Promise(setImmediate)
found.listeners.push(listening())
const { stdout, stderr } = uninstall.stats()
found.stdout = stdout
found.stderr = stderr
found.taken = Object.hasOwn(process.stdout, 'write') && fs.writeSync !== writeSync
uninstall()
found.back = !Object.hasOwn(process.stdout, 'write') && fs.writeSync === writeSync
found.listeners.push(listening())
console.log('after')
found.codes = [{ bufferBytes: 1 }, { flush: 1 }].map(options => {
  try {
    install(options)
    return 'nothing'
  } catch (error) {
    return `${error.code}: ${error.message}`
  }
})
process.send(found)
