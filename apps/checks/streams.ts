/** Every stream of the app lives through its silences, and says the same in both arms. */
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
  // Both at once: they wait for most of the time.
  const [bare, register] = await Promise.all([live(subject, 'bare'), live(subject, 'register')])
  const failures: string[] = []
  const notes: string[] = []
  for (const [at, { name }] of all.entries()) {
    const before = bare[at]!
    const after = register[at]!
    if ('died' in before) notes.push(`${name} does not live without meltproof either: ${before.died}`)
    else if ('died' in after) failures.push(`${name}: ${after.died}`)
    else if (before.text !== after.text)
      failures.push(`${name}: ${after.text.slice(0, 200)} instead of ${before.text.slice(0, 200)}`)
  }
  const judged = all.length - notes.length
  return {
    ok: failures.length === 0,
    summary: failures.length === 0 ? `${judged} of ${judged}` : `${failures.length} of ${judged} cut`,
    failures,
    notes,
    figures: { streams: all.map(({ name, kind }) => `${name} (${kind})`) },
  }
}

function live(subject: Subject, arm: Arm): Promise<Told[]> {
  const { definition, signal, name } = subject
  return subject.withApp(arm, running =>
    Promise.all(
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
    ),
  )
}

async function meanwhile({ meanwhile }: Stream, asking: ReturnType<typeof asker>): Promise<void> {
  if (meanwhile === undefined) return
  await sleep(meanwhile.afterMs)
  await asking.ask(meanwhile.ask)
}
