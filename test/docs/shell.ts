/** Checks the commands of a shell block: each exists here, and accepts the flags it is given. Knows no document. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { settingsFrom } from '../../packages/meltproof/src/register/options.ts'
import { ROOT } from './pages.ts'

/** Programs of any machine, which are only checked to exist. */
const SYSTEM = ['tail', 'ln', 'curl']

/** The faults of a block, one sentence each. */
export function shellFaults(code: string): string[] {
  return code
    .split('\n')
    .map(line => line.replace(/(?:^|\s)#.*$/, '').trim())
    .filter(line => line !== '')
    .flatMap(line => line.split(/\s(?:&&|\|\||\||;)\s/))
    .flatMap(command => commandFaults(wordsOf(command)).map(fault => `${command}: ${fault}`))
}

/** Splits words like a shell: quotes group, and nothing else is special. */
export function wordsOf(command: string): string[] {
  return [...command.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) => word.replace(/['"]/g, ''))
}

function commandFaults(words: readonly string[]): string[] {
  const start = words.findIndex(word => !/^[A-Z_]+=/.test(word))
  const settings = words.slice(0, start === -1 ? words.length : start)
  const [program = '', ...rest] = words.slice(settings.length)
  return [...settingFaults(settings), ...programFaults(program, rest)]
}

/** Variables that meltproof does not know or would reject. */
export function settingFaults(assignments: readonly string[]): string[] {
  const environment = Object.fromEntries(assignments.map(word => [word.split('=')[0]!, word.replace(/^[^=]*=/, '')]))
  const nodeOptions = environment['NODE_OPTIONS']
  return [
    ...settingsFrom(environment).warnings,
    ...(nodeOptions === undefined ? [] : nodeFaults([...nodeOptions.split(' '), 'server.js'])),
  ]
}

function programFaults(program: string, rest: readonly string[]): string[] {
  if (program === 'node') return nodeFaults(rest)
  if (program === 'npm') return npmFaults(rest)
  if (program === 'npx' && rest[0] === 'meltlab') return meltlabFaults(rest.slice(1))
  if (program === 'docker') return dockerFaults(rest)
  if (SYSTEM.includes(program)) return spawnSync(program, ['--version']).error === undefined ? [] : ['no such program']
  return ['a program that this test does not know']
}

const { exports } = JSON.parse(readFileSync(join(ROOT, 'packages/meltproof/package.json'), 'utf8')) as {
  readonly exports: { readonly './register': { readonly default: string; readonly require: string } }
}
/** The flags that load meltproof/register in the reader's app, which is in /app. */
const installed = (file: string): URL => new URL(file, 'file:///app/node_modules/meltproof/')
const INSTALLED = [
  `--import=${installed(exports['./register'].default).href}`,
  `--require=${installed(exports['./register'].require).pathname}`,
]

/** Faults of `node [--import NAME] FILE FLAGS`. `server.js` is the file of the reader. */
function nodeFaults(words: readonly string[]): string[] {
  const [flag, name, ...rest] = words
  if (/^--(?:import|require)=/.test(flag ?? '')) {
    return [...(INSTALLED.includes(flag!) ? [] : [`no such file: ${flag}`]), ...nodeFaults(words.slice(1))]
  }
  if (flag === '--import' || flag === '--require') {
    return [...(name === 'meltproof/register' ? [] : [`no such module: ${name}`]), ...nodeFaults(rest)]
  }
  const [file = '', ...given] = words
  if (file === 'server.js') return []
  if (!existsSync(join(ROOT, file))) return [`${file} does not exist`]
  return missingFlags(given, readFileSync(join(ROOT, file), 'utf8'), name => name.slice(2))
}

function npmFaults([command = '', ...rest]: readonly string[]): string[] {
  if (command === 'i')
    return rest.flatMap(name => (['meltproof', 'meltlab'].includes(name) ? [] : [`not ours: ${name}`]))
  const { flags, own } = splitAtDashes(rest)
  const at = flags.indexOf('-w')
  const folder = at === -1 ? '.' : join('examples', flags[at + 1] ?? '')
  if (!existsSync(join(ROOT, folder, 'package.json'))) return [`no workspace: ${flags[at + 1]}`]
  const name = command === 'run' ? (flags[0] ?? '') : command
  const { scripts } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const script = scripts[name]
  if (name === 'ci') return []
  // `npm start` of the reader's service.
  if (script === undefined) return name === 'start' && at === -1 ? [] : [`no such script: ${name}`]
  const file = /\bnode (?:--\S+ )*(\S+\.ts)/.exec(script)?.[1]
  return file === undefined
    ? []
    : missingFlags(own, readFileSync(join(ROOT, folder, file), 'utf8'), word => word.slice(2))
}

const help = new Map<string, string>()

function meltlabFaults(words: readonly string[]): string[] {
  const [command = '', ...rest] = words
  if (!help.has(command)) {
    const cli = join(ROOT, 'packages/lab/dist/cli.js')
    const { stdout, status } = spawnSync(process.execPath, [cli, command, '--help'], { encoding: 'utf8' })
    help.set(command, status === 0 && stdout.startsWith(`Usage: meltlab ${command} `) ? stdout : '')
  }
  const text = help.get(command)!
  if (text === '') return [`meltlab has no command ${command}`]
  const { flags, own } = splitAtDashes(rest)
  return [
    ...missingFlags(flags, text, name => `${name} `),
    ...(own.length === 0 ? [] : programFaults(own[0]!, own.slice(1))),
  ]
}

/** Checks the flags of Docker, where it is installed. */
function dockerFaults([command = '', ...rest]: readonly string[]): string[] {
  const { stdout, error } = spawnSync('docker', [command, '--help'], { encoding: 'utf8' })
  return error === undefined ? missingFlags(rest, stdout, name => `${name} `) : []
}

function missingFlags(words: readonly string[], text: string, spelled: (flag: string) => string): string[] {
  const flags = words.filter(word => word.startsWith('--')).map(word => word.split('=')[0]!)
  return flags.filter(flag => !`${text} `.includes(spelled(flag))).map(flag => `no such flag: ${flag}`)
}

function splitAtDashes(words: readonly string[]): { flags: readonly string[]; own: readonly string[] } {
  const at = words.indexOf('--')
  return at === -1 ? { flags: words, own: [] } : { flags: words.slice(0, at), own: words.slice(at + 1) }
}
