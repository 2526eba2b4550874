/**
 * Load by a protocol meltlab does not speak: a program of the app's folder makes it. `capacity` or `offer RATE MS` are
 * its last arguments, ORIGIN is where the app is; it prints a number, or a {@link Load} as JSON.
 */
import { printed } from '../streams/program.ts'
import type { Load, LoadMaker } from './load-maker.ts'

export function programLoad(origin: string, args: readonly string[], folder: string, signal: AbortSignal): LoadMaker {
  const run = (...asked: string[]): Promise<string> => printed([...args, ...asked], { ORIGIN: origin }, folder, signal)
  return {
    capacity: async () => Number(await run('capacity')),
    offer: async (rate, durationMs) => JSON.parse(await run('offer', `${rate}`, `${durationMs}`)) as Load,
  }
}
