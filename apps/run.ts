/**
 * Runs apps from npm by other authors, bare and under `node --import meltproof/register`, and compares them.
 *
 *   npm run apps                                   every app, every check (about 40 minutes)
 *   npm run apps -- verdaccio next                 these apps
 *   npm run apps -- --checks same-answers,streams  these checks
 *   npm run apps -- --list                         lists the apps and checks
 *   npm run apps -- --page                         only writes docs/apps.md from apps/results
 *
 * Packages are installed on demand into apps/.installed. The findings of each check are stored in
 * apps/results/<name>.json, and docs/apps.md is written from all of them. Ends with 1 when a check failed, with 2 for a
 * wrong argument.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { commitHere } from '../packages/lab/src/experiment/commit.ts'
import { leadingComment } from '../scripts/script-options.ts'
import { CHECK_NAMES, CHECKS, type CheckName } from './checks/all.ts'
import type { Outcome, Subject } from './checks/check.ts'
import { pick } from './runner/arguments.ts'
import type { AppDefinition } from './runner/definition.ts'
import { install, NoNetworkError } from './runner/install.ts'
import { allowedCores, coresOf, describeMachine, progressOn } from './runner/lab.ts'
import { dependencyVersion } from './runner/manifest.ts'
import { readResult, record, runtimeCommit } from './runner/results.ts'
import { subjectOf } from './runner/subject.ts'
import { appsPage } from './runner/table.ts'

const known = globSync('*/app.ts', { cwd: import.meta.dirname })
  .map(dirname)
  .sort()
const progress = progressOn(process.stderr)
const { names, checks } = readArguments()
const stop = new AbortController()
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.on(signal, () => {
    progress.line(`stopped by ${signal === 'SIGINT' ? 'Ctrl-C' : signal}`)
    stop.abort()
    process.exit(code) // the exit handlers end every process we started, and remove their folders
  })
}
const machine = describeMachine()
const runtime = runtimeCommit()
const commit = commitHere() ?? 'unknown'
const pinning = coresOf(allowedCores())
if (pinning === undefined)
  progress.line('load and app share a core: no taskset, or a single core; load checks are doubtful')

let failed = 0
const skipped: string[] = []
for (const name of names) await examine(name)
progress.clear()
writePage()
if (skipped.length > 0) progress.line(`SKIPPED, the npm registry can not be reached: ${skipped.join(', ')}`)
const passed = skipped.length === names.length ? 'nothing was checked' : 'every check that was made passed'
progress.line(failed === 0 ? passed : `${failed} failed; docs/apps.md says what`)
process.exit(failed === 0 ? 0 : 1)

async function examine(name: string): Promise<void> {
  const { app: definition } = (await import(`./${name}/app.ts`)) as { app: AppDefinition }
  try {
    await install(name, definition.build ?? [], progress.line)
  } catch (error) {
    if (error instanceof NoNetworkError) {
      progress.line(`SKIPPED ${name}: the npm registry can not be reached\n${error.message}`)
      skipped.push(name)
    } else {
      progress.line(`FAIL ${name} could not be installed: ${(error as Error).message}`)
      failed++
    }
    return
  }
  const subject = subjectOf({ name, definition, machine, pinning, signal: stop.signal, progress })
  const version = `${definition.main} ${dependencyVersion(name, definition.main)}`
  for (const check of checks) {
    const began = Date.now()
    const outcome = await outcomeOf(check, subject)
    if (!outcome.ok) failed++
    const date = new Date().toISOString().slice(0, 10)
    record({ name, title: definition.title, version }, check, { ...outcome, date, runtime, commit, machine })
    const seconds = ((Date.now() - began) / 1000).toFixed(0)
    progress.line(`${outcome.ok ? 'ok  ' : 'FAIL'} ${name} ${check}: ${outcome.summary} (${seconds} s)`)
    for (const failure of outcome.failures) progress.line(`       ${failure}`)
    for (const note of outcome.notes ?? []) progress.line(`       note: ${note}`)
  }
}

async function outcomeOf(check: CheckName, subject: Subject): Promise<Outcome> {
  try {
    return await CHECKS[check](subject)
  } catch (error) {
    return { ok: false, summary: 'could not be carried out', failures: [(error as Error).message] }
  }
}

function writePage(): void {
  const results = known.flatMap(name => readResult(name) ?? [])
  const page = join(import.meta.dirname, '../docs/apps.md')
  if (results.length > 0) writeFileSync(page, appsPage(results, CHECK_NAMES))
}

function readArguments(): { names: readonly string[]; checks: readonly CheckName[] } {
  const refuse = (why: string): never => {
    console.error(`${basename(import.meta.filename)}: ${why}\nsee --help`)
    process.exit(2)
  }
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        list: { type: 'boolean' },
        page: { type: 'boolean' },
        checks: { type: 'string' },
      },
    })
    if (values.help) leave(leadingComment(readFileSync(import.meta.filename, 'utf8')))
    if (values.list) leave(`apps: ${known.join(', ')}\nchecks: ${CHECK_NAMES.join(', ')}`)
    if (values.page) {
      writePage()
      leave(
        existsSync(join(import.meta.dirname, '../docs/apps.md')) ? 'docs/apps.md is written' : 'there is no result yet',
      )
    }
    return {
      names: pick('app', positionals, known),
      checks: pick('check', values.checks?.split(',') ?? [], CHECK_NAMES),
    }
  } catch (error) {
    return refuse((error as Error).message)
  }
}

function leave(text: string): never {
  console.log(text)
  process.exit(0)
}
