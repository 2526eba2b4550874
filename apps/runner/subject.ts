/** An app under examination, with functions that start it, load it and end it. */
import type { Subject } from '../checks/check.ts'
import { httpLoad } from '../load/http.ts'
import type { Capacity, LoadMaker } from '../load/load-maker.ts'
import { programLoad } from '../load/program.ts'
import type { AppDefinition, Arm } from './definition.ts'
import { asker } from './asking.ts'
import { installedFolder } from './install.ts'
import { allowedCores, pinSelf, unpinSelf } from './lab.ts'
import { type Running, type StartOptions, start } from './start.ts'

export type SubjectParts = Omit<Subject, 'withApp' | 'underLoad' | 'capacity'>

export function subjectOf(parts: SubjectParts): Subject {
  const { name, definition, pinning, signal, progress } = parts
  const cores = allowedCores()
  let capacity: Promise<Capacity> | undefined

  const withApp = async <T>(
    arm: Arm,
    use: (running: Running) => Promise<T>,
    options?: Partial<StartOptions>,
  ): Promise<T> => {
    progress.status(`${name}: starting ${arm}`)
    const running = await start(name, definition, arm, { ...options, signal })
    progress.status(`${name}: ${arm}`)
    try {
      return await use(running)
    } finally {
      await running.stop()
    }
  }
  const underLoad = async <T>(arm: Arm, use: (load: LoadMaker, running: Running) => Promise<T>): Promise<T> => {
    if (pinning !== undefined) pinSelf(pinning.lab)
    try {
      return await withApp(
        arm,
        async running => {
          await prepare(definition, running)
          return use(loadMakerOf(running), running)
        },
        { pinning },
      )
    } finally {
      unpinSelf(cores)
    }
  }
  const loadMakerOf = (running: Running): LoadMaker => {
    const { dearest } = definition
    if ('program' in dearest) return programLoad(running.origin, dearest.program, installedFolder(name), signal)
    return httpLoad(running.origin, dearest, signal)
  }
  return {
    ...parts,
    withApp,
    underLoad,
    capacity() {
      capacity ??= underLoad('bare', async load => {
        progress.status(`${name}: looking for its capacity`)
        const { rate, users } = await load.capacity()
        progress.line(`${name}: capacity ${rate.toFixed(0)}/s with ${users} users`)
        return { rate, users }
      })
      return capacity
    },
  }
}

/** Requests the main paths once, in order, to create the data of the most expensive route and to warm the app. */
async function prepare({ paths }: AppDefinition, running: Running): Promise<void> {
  const asking = asker(running.origin, running.fill)
  try {
    for (const ask of paths) await asking.ask(ask)
  } finally {
    asking.close()
  }
}
