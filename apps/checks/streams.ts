/** Every stream of the app survives its silences, and has the same content in both arms. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Arm, Stream } from '../runner/definition.ts'
import { asker } from '../runner/asking.ts'
import { scrubbed } from '../runner/compare.ts'
import { installedFolder } from '../runner/install.ts'
import { converse } from '../streams/all.ts'
import type { Check, Subject } from './check.ts'

type Told = { readonly text: string } | { readonly died: string }

export const streams: Check = async subject => {
  const all = subject.definition.streams
  if (all.length === 0) return { ok: true, summary: 'has none', failures: [] }
  // Both run at the same time, because they mostly wait.
  const [bare, register] = await Promise.all([live(subject, 'bare'), live(subject, 'register')])
  const failures: string[] = []
  const notes: string[] = []
  if (register.ended !== undefined) {
    const what = `the app ${register.ended}`
    if (bare.ended === undefined) failures.push(what)
    else notes.push(`${what}; without meltproof it ${bare.ended}`)
  }
  for (const [at, { name }] of all.entries()) {
    const before = bare.told[at]!
    const after = register.told[at]!
    if ('died' in before) notes.push(`${name} does not live without meltproof either: ${before.died}`)
    else if ('died' in after) failures.push(`${name}: ${after.died}`)
    else if (before.text !== after.text) failures.push(`${name}: ${shown(after.text)} instead of ${shown(before.text)}`)
  }
  const judged = bare.told.filter(told => 'text' in told).length
  return {
    ok: failures.length === 0,
    summary:
      failures.length === 0
        ? `${judged} of ${judged}`
        : register.ended !== undefined
          ? 'the app ended'
          : `${failures.length} of ${judged} cut`,
    failures,
    notes,
    figures: { streams: all.map(({ name, kind }) => `${name} (${kind})`) },
  }
}

interface Lived {
  readonly told: readonly Told[]
  /** How the app ended, if it did during the streams, and its last output. */
  readonly ended: string | undefined
}

function live(subject: Subject, arm: Arm): Promise<Lived> {
  const { definition, signal, name } = subject
  return subject.withApp(arm, async running => {
    const told = await Promise.all(
      definition.streams.map(async (stream): Promise<Told> => {
        const asking = asker(running.origin, running.fill)
        const place = { origin: running.origin, asker: asking, folder: installedFolder(name), signal }
        try {
          for (const ask of stream.before ?? []) await asking.ask(ask)
          const [text] = await Promise.all([converse(stream, place), meanwhile(stream, asking)])
          const scrub = { port: running.port, kept: asking.kept(), volatile: definition.volatile ?? [] }
          return { text: scrubbed(text, scrub) }
        } catch (error) {
          signal.throwIfAborted()
          return { died: (error as Error).message }
        } finally {
          asking.close()
        }
      }),
    )
    const how = running.app.ended()
    return { told, ended: how === undefined ? undefined : `${how}: ${running.app.lastWords().slice(-600)}` }
  })
}

const shown = (text: string): string => text.slice(0, 200)

async function meanwhile({ meanwhile }: Stream, asking: ReturnType<typeof asker>): Promise<void> {
  if (meanwhile === undefined) return
  await sleep(meanwhile.afterMs)
  await asking.ask(meanwhile.ask)
}
