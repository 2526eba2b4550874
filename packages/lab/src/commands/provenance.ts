/** What a reader needs to repeat a run: the command as typed, and the lab's version. */
import { readFileSync } from 'node:fs'

export function labVersion(): string {
  const file = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/** As a shell would need it. */
export function shownCommandLine(argv: readonly string[]): string {
  return [
    'meltlab',
    ...argv.map(word => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)),
  ].join(' ')
}
