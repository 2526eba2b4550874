/**
 * Load over a protocol that meltlab does not speak, made by a program in the folder of the app. Its last arguments are
 * `capacity`, `busy USERS MS` or `offer RATE MS`, and ORIGIN is the address of the app. It prints JSON: the answer of
 * the {@link LoadMaker} function of that name.
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
