/** Which signals end a process that sends them to itself while nobody listens. */
import { constants } from 'node:os'

/**
 * Those that end a process by default (signal(7)), without the ones that Node uses: it starts its inspector on SIGUSR1,
 * its profiler uses SIGPROF, and SIGPIPE and SIGXFSZ are ignored.
 */
const FATAL: readonly string[] = [
  ...['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR2', 'SIGKILL', 'SIGABRT', 'SIGALRM', 'SIGVTALRM', 'SIGXCPU'],
  ...['SIGILL', 'SIGTRAP', 'SIGBUS', 'SIGFPE', 'SIGSEGV', 'SIGSYS'],
]

const NUMBERS: Readonly<Record<string, number>> = constants.signals

/** The name of a signal, given as process.kill() takes it, if it is one of them. */
export function fatalSignal(signal: unknown): string | undefined {
  return FATAL.find(name => (typeof signal === 'number' ? NUMBERS[name] : name) === (signal || 'SIGTERM'))
}
