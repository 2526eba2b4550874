/**
 * Load by a protocol meltlab does not speak: a program of the app's folder makes it. `capacity`, `busy USERS MS`
 * or `offer RATE MS` are its last arguments, ORIGIN is where the app is; it prints as JSON what {@link LoadMaker} answers.
 */
import { printed } from '../streams/program.ts'
import type { Capacity, Load, LoadMaker } from './load-maker.ts'

export function programLoad(origin: string, args: readonly string[], folder: string, signal: AbortSignal): LoadMaker {
  const run = (...asked: string[]): Promise<string> => printed([...args, ...asked], { ORIGIN: origin }, folder, signal)
  return {
    capacity: async () => JSON.parse(await run('capacity')) as Capacity,
    busy: async (users, durationMs) => Number(await run('busy', `${users}`, `${durationMs}`)),
    offer: async (rate, durationMs) => JSON.parse(await run('offer', `${rate}`, `${durationMs}`)) as Load,
  }
}
