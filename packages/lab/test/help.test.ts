/** The first commands of a new user: help that fits a terminal, and errors that point to it. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { text } from 'node:stream/consumers'
import { type CliEnd, cli, runCli, runEach } from './run-cli.ts'

const helpOf = ({ code, stdout, stderr }: CliEnd): string => {
  assert.deepEqual([code, stderr], [0, ''])
  return stdout
}

const help = helpOf(await runCli(['--help']))
const commands = [...help.split('Commands:')[1]!.matchAll(/^ {2}(\w+) /gm)].map(([, name]) => name!)
const own = commands.filter(name => name !== 'help')
const helps = await runEach(own.map(name => [name, '--help']))
const refusals = await runEach(own.map(name => [name, '--wrong']))

test('meltlab --help lists the commands', () => assert.ok(commands.length >= 8, commands.join(', ')))

for (const [n, name] of own.entries()) {
  test(`${name} --help fits 80 columns, has full sentences, and shows defaults as they are typed`, () => {
    const text = helpOf(helps[n]!)
    assert.deepEqual(
      text.split('\n').filter(line => line.length > 80),
      [],
    )
    assert.match(text, /^Usage: meltlab \w+ .*\n\n[A-Z][\s\S]*?\.\n\n/)
    assert.doesNotMatch(text, /default: (?:\[|")/)
  })

  test(`${name}: an unknown option is refused in one line that points to its help`, () => {
    const { code, stdout, stderr } = refusals[n]!
    assert.deepEqual([code, stdout], [2, ''])
    assert.equal(stderr, `meltlab: unknown option '--wrong'; see meltlab ${name} --help\n`)
  })
}

test('meltlab without a command prints the help on stderr', async () => {
  const { code, stdout, stderr } = await runCli([])
  assert.deepEqual([code, stdout, stderr], [2, '', help])
})

test('an unknown command is refused in one line', async () => {
  const { code, stderr } = await runCli(['melts'])
  assert.deepEqual([code, stderr], [2, `meltlab: unknown command 'melts' (did you mean melt?); see meltlab --help\n`])
})

test('the list of scenarios fits 80 columns', async () => {
  const { stdout } = await runCli(['list'])
  assert.ok(stdout.split('\n').every(line => line.length <= 80))
})

test('closing the pipe of stdout early is not an error', async () => {
  const child = spawn(process.execPath, [cli, 'list'], { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
  assert.deepEqual([code, stderr], [0, ''])
})
