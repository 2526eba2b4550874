/** Requests the main paths of an app in one arm, and compares the answers of two arms. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Arm } from '../runner/definition.ts'
import { asker } from '../runner/asking.ts'
import { type Comparable, comparable, differences, scrubbed } from '../runner/compare.ts'
import { installedFolder } from '../runner/install.ts'
import { printed } from '../streams/program.ts'
import type { Outcome, Subject } from './check.ts'

/** Time for the spans to arrive, ms. They are sent every 100 ms; see companionsEnvironment. */
const SPANS_ARRIVE_MS = 1000

/** The answers by request. */
export type Answers = ReadonlyMap<string, Comparable>

export function answersOf(subject: Subject, arm: Arm, collector?: string): Promise<Answers> {
  const { definition, signal } = subject
  return subject.withApp(
    arm,
    async running => {
      const asking = asker(running.origin, running.fill)
      const answers = new Map<string, Comparable>()
      const scrub = () => ({ port: running.port, kept: asking.kept(), volatile: definition.volatile ?? [] })
      try {
        for (const [at, ask] of definition.paths.entries()) {
          const name = `${at + 1}. ${ask.method ?? 'GET'} ${ask.path}`
          answers.set(name, comparable(await asking.ask(ask), scrub()))
        }
        if (definition.pathsProgram !== undefined) {
          const env = { ORIGIN: running.origin }
          const out = await printed(definition.pathsProgram, env, installedFolder(subject.name), signal)
          for (const [at, line] of out.trim().split('\n').entries()) {
            answers.set(`call ${at + 1}`, { status: 0, headers: [], body: scrubbed(line, scrub()) })
          }
        }
        if (collector !== undefined) await sleep(SPANS_ARRIVE_MS)
        return answers
      } finally {
        asking.close()
      }
    },
    collector === undefined ? {} : { collector },
  )
}

/** If answers differ, the bare app is asked again. Answers that differ between its own two runs are not judged. */
export async function hideDifferencesOfTheApp(
  bare: Answers,
  other: Answers,
  bareAgain: () => Promise<Answers>,
): Promise<Outcome> {
  const first = compared(bare, other)
  const its = first.size === 0 ? first : compared(bare, await bareAgain())
  const failures = [...first].filter(([name]) => !its.has(name)).map(([name, what]) => `${name}: ${what}`)
  const same = bare.size - first.size
  return {
    ok: failures.length === 0,
    summary: failures.length === 0 ? `${same} of ${bare.size - its.size}` : `${failures.length} of ${bare.size} differ`,
    failures,
    notes: [...its].map(
      ([name, what]) => `${name} differs from run to run without meltproof, and was not judged: ${what}`,
    ),
  }
}

function compared(bare: Answers, other: Answers): Map<string, string> {
  const found = new Map<string, string>()
  for (const [name, answer] of bare) {
    const against = other.get(name)
    const what = against === undefined ? ['no answer'] : differences(answer, against)
    if (what.length > 0) found.set(name, what.join('; '))
  }
  return found
}
