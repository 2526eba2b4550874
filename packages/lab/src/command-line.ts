/** Command lines as users type them. Pure. */
import { UserError } from './user-error.ts'

/** The command after `--` of `meltlab NAME`. A single word with spaces, such as "npm start", is a command line too. */
export function typedCommand(typed: readonly string[], name: string): readonly string[] {
  const command = typed.length === 1 ? splitWords(typed[0]!) : typed
  if (command.length > 0) return command
  throw new UserError(`a command is needed: meltlab ${name} [options] -- node server.js`)
}

/** Splits like a shell, with quotes and backslashes, but expands nothing. */
export function splitWords(text: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let quote: string | undefined
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    if (quote !== undefined) {
      if (char === quote) quote = undefined
      else if (char === '\\' && quote === '"' && /["\\$`]/.test(text[i + 1] ?? '')) word += text[++i]!
      else word += char
    } else if (char === '"' || char === "'") {
      quote = char
      word ??= ''
    } else if (char === '\\' && i + 1 < text.length) {
      word = (word ?? '') + text[++i]!
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else {
      word = (word ?? '') + char
    }
  }
  if (quote !== undefined) throw new UserError(`a ${quote} is not closed in: ${text}`)
  if (word !== undefined) words.push(word)
  return words
}
