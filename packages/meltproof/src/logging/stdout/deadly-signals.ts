/** Which signals end this process when it sends them to itself and nobody listens. */
import { constants } from 'node:os'

/**
 * Those that end a process by default (signal(7)), without the ones Node takes for itself: it starts its inspector on
 * SIGUSR1, its profiler uses SIGPROF, and SIGPIPE and SIGXFSZ are ignored.
 */
const DEADLY: readonly string[] = [
  ...['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR2', 'SIGKILL', 'SIGABRT', 'SIGALRM', 'SIGVTALRM', 'SIGXCPU'],
  ...['SIGILL', 'SIGTRAP', 'SIGBUS', 'SIGFPE', 'SIGSEGV', 'SIGSYS'],
]

const NUMBERS: Readonly<Record<string, number>> = constants.signals

/** The name of a signal, given as process.kill() takes it, if it is one of them. */
export function deadlySignal(signal: unknown): string | undefined {
  if (typeof signal === 'number') return DEADLY.find(each => NUMBERS[each] === signal)
  return DEADLY.find(each => each === (signal || 'SIGTERM'))
}
