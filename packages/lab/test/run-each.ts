/**
 * Runs commands of `meltlab` that end before they start anything, one after the other in this process. See runEach() in
 * run-cli.ts. The argument is the list of their arguments, as JSON.
 */
import type { CliEnd } from './run-cli.ts'

const print = process.stdout.write.bind(process.stdout)
// Each copy of main.ts adds its own listeners.
process.stdout.setMaxListeners(0)
process.stderr.setMaxListeners(0)

const ends: CliEnd[] = []
for (const args of JSON.parse(process.argv[2]!) as string[][]) {
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    process[name].write = text => {
      said[name] += text
      return true
    }
  }
  process.argv = [process.execPath, 'meltlab', ...args]
  process.exitCode = 0
  // Imports a new copy, because commander keeps the options of the command before.
  const { main } = (await import(`../src/main.ts?${ends.length}`)) as typeof import('../src/main.ts')
  await main()
  ends.push({ code: Number(process.exitCode), ...said })
}
process.exitCode = 0
print(JSON.stringify(ends))
