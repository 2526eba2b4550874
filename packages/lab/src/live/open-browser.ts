/** Opens an address in the user's browser, if the lab runs in a terminal and not in CI. */
import { spawn } from 'node:child_process'

interface Surroundings {
  readonly wanted: boolean
  readonly isTerminal: boolean
  readonly ci: string | undefined
}

export function shouldOpen({ wanted, isTerminal, ci }: Surroundings): boolean {
  return wanted && isTerminal && (ci === undefined || ci === '' || ci === 'false' || ci === '0')
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Failures are ignored, because the address has been printed. */
export function openBrowser(address: string): void {
  const [program, ...args] = OPENERS[process.platform] ?? ['xdg-open']
  spawn(program!, [...args, address], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref()
}
