/**
 * Writes after uninstall(), with all functions of meltproof that code may have kept. Sends the content of an unrelated
 * file.
 */
import fs from 'node:fs'
import { install } from 'meltproof/stdout'

const file = process.env.VICTIM
const uninstall = install()
const { write, writeSync, writev, writevSync } = fs
const bound = process.stdout.write.bind(process.stdout)
const below = process.stdout.write
process.stdout.write = function (...args) {
  return Reflect.apply(below, this, args)
}
uninstall()
// These files get the lowest free descriptors, as meltproof's own did before uninstall().
const victims = [fs.openSync(file, 'w'), fs.openSync(file, 'a')]
const bytes = text => Buffer.from(text)
console.log('wrapper')
bound('bound\n')
writeSync(1, 'writeSync\n')
writevSync(1, [bytes('writev'), bytes('Sync\n')])
await new Promise(resolve => write(1, 'write\n', resolve))
await new Promise(resolve => writev(1, [bytes('writev\n')], resolve))
process.send({ victims, held: fs.readFileSync(file, 'utf8') })
