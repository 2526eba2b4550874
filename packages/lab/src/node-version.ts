/** Imported before everything else: an older Node would fail somewhere inside with words that help nobody. */
import process from 'node:process'

const NEEDED = [22, 12] as const
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  process.stderr.write(`meltlab: needs Node ${NEEDED.join('.')} or later; this is ${process.versions.node}.\n`)
  process.exit(2)
}
