/**
 * Lanes share their port, so any process of the same user that shares ports as well can listen on it, and the kernel gives
 * it a part of our connections. Linux has no way to forbid that (the flag is asked for of every socket, the first one
 * included), and tells nobody; so we look now and then, and say so.
 */
import { inodeOf, listenersOn, type PortListener, processOf } from './port-listeners.ts'

/** How often it is looked, ms. With 32 lanes a look takes 1.5 ms of CPU, a third of it on the event loop. */
export const LOOK_EVERY_MS = 10_000

/** What we listen with. */
export interface OwnListeners {
  readonly port: number
  readonly fds: readonly number[]
  /** Whether `::` takes what is sent by IPv4, too. */
  readonly bothFamilies: boolean
}

/**
 * Looks until somebody else listens as well, which is told once, or until it is stopped.
 * @returns what stops it
 */
export function watchForStrangers(
  { port, fds, bothFamilies }: OwnListeners,
  onFound: (who: string) => void,
  everyMs: number = LOOK_EVERY_MS,
): () => void {
  let inodes: ReadonlySet<string | undefined> | undefined
  let looking = false
  let stopped = false
  const stop = (): void => {
    stopped = true
    clearInterval(timer)
  }
  const look = async (): Promise<void> => {
    inodes ??= new Set(await Promise.all(fds.map(inodeOf)))
    const stranger = findStranger(await listenersOn(port), inodes, bothFamilies)
    if (stranger === undefined || stopped) return
    stop()
    const pid = await processOf(stranger.inode)
    onFound(pid === undefined ? 'another process' : pid === process.pid ? 'this process' : `process ${pid}`)
  }
  const timer = setInterval(() => {
    if (looking) return
    looking = true
    look().then(() => {
      looking = false
    }, stop)
  }, everyMs).unref()
  return stop
}

/** One that takes connections which would come to us. */
export function findStranger(
  listeners: readonly PortListener[],
  ours: ReadonlySet<string | undefined>,
  bothFamilies: boolean,
): PortListener | undefined {
  const own = listeners.filter(({ inode }) => ours.has(inode))
  return listeners.find(each => !ours.has(each.inode) && own.some(mine => overlap(mine, each, bothFamilies)))
}

/** Only what is certain: whether their `::` takes IPv4 as well is not told. */
function overlap(mine: PortListener, other: PortListener, bothFamilies: boolean): boolean {
  if (mine.family !== other.family) return mine.family === 6 && isAny(mine) && bothFamilies
  return mine.address === other.address || isAny(mine) || isAny(other)
}

function isAny({ address }: PortListener): boolean {
  return /^0+$/.test(address)
}
