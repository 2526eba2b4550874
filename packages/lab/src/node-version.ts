/** Imported first, because an older Node would fail later with an unclear message. */
import process from 'node:process'

const NEEDED = [22, 12] as const
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  process.stderr.write(`meltlab: needs Node ${NEEDED.join('.')} or later; this is ${process.versions.node}.\n`)
  process.exit(2)
}
