/**
 * Options of a development script. `--help` prints the leading comment of the script. Unknown and invalid options end
 * it with 2 and one line that says why.
 */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { type ParseArgsConfig, parseArgs } from 'node:util'

type Declared = NonNullable<ParseArgsConfig['options']>
type Values<T extends Declared> = ReturnType<typeof parseArgs<{ options: T }>>['values']

export interface ScriptOptions<T extends Declared> {
  readonly values: Values<T>
  /** Arguments that are not options, such as paths. Refused unless `takesOperands`. */
  readonly operands: readonly string[]
  /** The value of an option as a whole number of at least `least`. The option must have a default or be given. */
  whole(name: keyof T & string, least?: number): number
  /** The members of `known` in the comma-separated value; all of them if the option is not given. */
  chosen<Name extends string>(name: keyof T & string, known: readonly Name[]): readonly Name[]
  refuse(why: string): never
}

export interface ScriptWords {
  /** Replaces the leading comment in `--help`. */
  readonly help?: string
  /** @default false */
  readonly takesOperands?: boolean
}

/** `script` is the caller's `import.meta.filename`. */
export function scriptOptions<const T extends Declared>(
  script: string,
  declared: T,
  { help, takesOperands = false }: ScriptWords = {},
): ScriptOptions<T> {
  const refuse = (why: string): never => {
    console.error(`${basename(script)}: ${why}\nsee --help`)
    process.exit(2)
  }
  if (process.argv.slice(2).some(argument => argument === '--help' || argument === '-h')) {
    console.log(help ?? leadingComment(readFileSync(script, 'utf8')))
    process.exit(0)
  }
  const read = (): { values: Values<T>; positionals: string[] } => {
    try {
      return parseArgs({ options: declared, allowPositionals: takesOperands })
    } catch (error) {
      return refuse((error as Error).message)
    }
  }
  const { values, positionals: operands } = read()
  const given = (name: string): string | undefined => (values as Record<string, string | undefined>)[name]
  return {
    values,
    operands,
    refuse,
    whole(name, least = 1) {
      const text = given(name) ?? ''
      const value = Number(text)
      if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least) return value
      return refuse(`--${name} must be a whole number from ${least}, got '${text}'`)
    },
    chosen(name, known) {
      const names = given(name)?.split(',')
      if (names === undefined) return known
      const unknown = names.filter(each => !(known as readonly string[]).includes(each))
      if (unknown.length > 0) refuse(`--${name} knows ${known.join(', ')}; got '${unknown.join(', ')}'`)
      return known.filter(each => names.includes(each))
    },
  }
}

/** The leading comment of a file, as text. */
export function leadingComment(source: string): string {
  const [, comment = ''] = /^\/\*\*([\s\S]*?)\*\//.exec(source) ?? []
  const lines = comment.split('\n').map(line => line.replace(/^ ?\* ?/, ''))
  return lines.join('\n').trim()
}
