/** What the files of the repository import, as their text says. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** All of them: also those of types, and those that are loaded late. */
export function importsOf(text: string): string[] {
  const found = text.matchAll(/\b(?:from\s+|import\s*\(\s*|import\s+|import\.meta\.resolve\(\s*)'([^'\n]+)'/g)
  return [...found].map(match => match[1]!)
}

/** Those that are there before the file itself runs. */
export function earlyImportsOf(text: string): string[] {
  return importsOf(text.replaceAll(/\bimport\s*\(/g, ''))
}

/** The file without its comments, which may well mention a clock. */
export function code(file: string): string {
  return readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
}

/** The files of a package that are loaded with this one, itself among them. Types are no part of a program. */
export function reachedFrom(entry: string): Set<string> {
  const reached = new Set<string>()
  const visit = (file: string): void => {
    if (reached.has(file)) return
    reached.add(file)
    const program = code(file).replaceAll(/^(?:import|export) type [^']*'[^'\n]*'$/gm, '')
    for (const name of earlyImportsOf(program)) if (name.startsWith('.')) visit(join(dirname(file), name))
  }
  visit(entry)
  return reached
}
