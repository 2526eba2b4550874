/** Prints twice while the watcher requests a sample, and once later. Prints the noticed calls to stderr, as JSON. */
import { TOKEN } from '../../../src/culprit/shared-words.ts'
import { watchSyncCalls } from '../../../src/culprit/sync-calls.ts'

const { stdout } = process
const words = new Int32Array(4)
const { _write: write } = stdout as unknown as { _write: (...args: unknown[]) => void }
Object.assign(stdout, {
  _write(...args: unknown[]): void {
    words[TOKEN]!++
    write.apply(stdout, args)
  },
})
const noticed: string[] = []
const restore = watchSyncCalls(words, what => noticed.push(what))
console.log('one')
stdout.write('two\n')
restore()
stdout.write('three\n')
console.error(JSON.stringify(noticed))
