/** The imports of source files, found in their text. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** All imports, including those of types, and those that are loaded late. */
export function importsOf(text: string): string[] {
  const found = text.matchAll(/\b(?:from\s+|import\s*\(\s*|import\s+|import\.meta\.resolve\(\s*)'([^'\n]+)'/g)
  return [...found].map(match => match[1]!)
}

/** The imports that are loaded before the file itself runs. */
export function earlyImportsOf(text: string): string[] {
  return importsOf(text.replaceAll(/\bimport\s*\(/g, ''))
}

/** The file without its comments, which may mention a clock. */
export function code(file: string): string {
  return readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
}

/** The files of a package that are loaded with this one, including itself. Type imports are not part of the program. */
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
