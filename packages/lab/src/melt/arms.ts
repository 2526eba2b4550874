/** The arms of a comparison: the command bare, with meltproof, and one for each --also. Pure: starts nothing. */
import { splitWords } from '../command-line.ts'
import type { Context, RunningApp } from '../experiment/scenario.ts'
import type { ScenarioArm } from '../report/result.ts'
import { UserError } from '../user-error.ts'

export interface Arm {
  readonly name: string
  readonly kind: 'bare' | 'protected' | 'also'
  readonly command: readonly string[]
  /** Added to NODE_OPTIONS, because this reaches Node through npm scripts, shells and cluster workers. */
  readonly nodeOptions: string | undefined
  readonly env: Readonly<Record<string, string>>
  /** Starts a proxy in front of the running app. The proxy then gets the load. */
  readonly front?: (context: Context, app: RunningApp) => Promise<Pick<RunningApp, 'origin' | 'stop'>>
}

/** The names of the arms in a report, and how each was started. */
export const namedArms = (arms: readonly Arm[]): readonly ScenarioArm[] =>
  arms.map(({ name, kind, command, nodeOptions }) => ({
    name,
    kind,
    what: `${nodeOptions === undefined ? '' : `NODE_OPTIONS='${nodeOptions}' `}${command.join(' ')}`,
  }))

export function armsOf(command: readonly string[], also: readonly string[]): readonly Arm[] {
  const arms: Arm[] = [
    { name: 'bare', kind: 'bare', command, nodeOptions: undefined, env: {} },
    { name: 'protected', kind: 'protected', command, nodeOptions: '--import meltproof/register', env: {} },
  ]
  for (const text of also) {
    const arm = parseAlso(text, command)
    arms.push({ ...arm, name: freeName(arm.name, arms) })
  }
  return arms
}

/** Parses `[name=]NODE OPTIONS`, whose options begin with a dash, or `[name=][VAR=value ...]COMMAND`. */
export function parseAlso(text: string, command: readonly string[]): Arm {
  // An arm's name contains a lower-case letter; NODE_ENV=production is a variable of the command.
  const named = /^(?=[^=]*[a-z])([\w .+-]*\w)=(.*)$/s.exec(text)
  const isNamed = named !== null && !text.startsWith('-')
  const rest = (isNamed ? named[2]! : text).trim()
  if (rest === '') {
    throw new UserError(
      `--also needs Node options or a command, such as --also "--import ./shedder.js", but got '${text}'`,
    )
  }
  if (rest.startsWith('-')) {
    const name = isNamed ? named[1]! : baseName(splitWords(rest).at(-1)!)
    return { name, kind: 'also', command, nodeOptions: rest, env: {} }
  }
  const words = splitWords(rest)
  const env: Record<string, string> = {}
  while (words.length > 1 && /^[A-Z_][A-Z0-9_]*=/.test(words[0]!)) {
    const [variable, ...value] = words.shift()!.split('=')
    env[variable!] = value.join('=')
  }
  // The word that differs from the base command names the arm: another app, or a flag.
  const different = words.find(word => !command.includes(word)) ?? words.at(-1)!
  return { name: isNamed ? named[1]! : baseName(different), kind: 'also', command: words, nodeOptions: undefined, env }
}

/** Returns `shed` for `./a/shed.mjs`, `file:///x/shed.mjs` and `--import=./shed.mjs`. */
function baseName(word: string): string {
  const file = word.slice(word.lastIndexOf('=') + 1)
  const base = file.slice(file.lastIndexOf('/') + 1)
  return base.replace(/\.[cm]?[jt]s$/, '').replace(/^-+/, '') || word
}

function freeName(wanted: string, taken: readonly Arm[]): string {
  let name = wanted
  for (let n = 2; taken.some(arm => arm.name === name); n++) name = `${wanted}-${n}`
  return name
}
