/** Runs an audit: one request at a time, then several users, then SIGTERM while they continue. */
import { setTimeout as sleep } from 'node:timers/promises'
import { formatDuration } from '../durations.ts'
import { type App, launch } from '../launch/command.ts'
import { freePort } from '../launch/free-port.ts'
import { checkAnswers, quote, waitUntilListening } from '../launch/wait-until-listening.ts'
import { isOldNode } from '../processes/node-version.ts'
import { livingOf } from '../processes/process-tree.ts'
import type { Progress } from '../progress.ts'
import { UserError } from '../user-error.ts'
import { plural } from '../words.ts'
import type { Facts } from './facts.ts'
import { judge, LEAST_REQUESTS, pathsWithTooFewRequests, type Shutdown } from './judge.ts'
import { Observed } from './observed.ts'
import type { AuditOptions } from './options.ts'
import type { AuditResult } from './result.ts'
import { Users } from './users.ts'

/** Requests to each path before anything is recorded, for compilation and lazy loading. */
const WARM_UP = 5
/** Share of the duration with one request at a time, so that a stall belongs to one request. */
const ALONE_SHARE = 0.4
/** Long enough to judge a path that takes two seconds per request. */
const LONGEST_ALONE_MS = 12_000
/** The users continue up to this multiple of the time if slow paths keep others from being requested. */
const LONGEST_TOGETHER = 3
const ANSWER_MS = 10_000
/** After SIGTERM the users continue for a moment, as clients behind a balancer do. */
const AFTER_SIGTERM_MS = 1000
/** Kubernetes' default grace period before it kills a pod, ms. */
const GRACE_MS = 30_000
const LOOK_EVERY_MS = 50

export interface Audited {
  /** Undefined if the audit failed before anything was observed. */
  readonly result: AuditResult | undefined
  readonly failure: unknown
}

export async function runAudit(options: AuditOptions, progress: Progress, signal: AbortSignal): Promise<Audited> {
  const startedAt = new Date()
  const observed = new Observed()
  let app: App | undefined
  let users: Users | undefined
  let origin = ''
  let asked: Ended['asked'] | undefined
  let notes: readonly string[] = []
  let shutdown: Shutdown | null = null
  let failure: unknown
  try {
    progress.status('starting the command')
    const port = process.env['PORT'] ?? String(await freePort())
    app = await launch({
      name: 'the command',
      command: options.command,
      env: { ...process.env, PORT: port, ...observed.env },
    })
    const { url, tls, startTimeoutMs } = options
    const request = { ...options, path: options.paths[0]! }
    const expected = { url, tls, preferredPort: Number(port), request, startTimeoutMs, signal }
    const found = await waitUntilListening(app, expected)
    if (found.note !== undefined) progress.line(`note: ${found.note}`)
    origin = found.origin
    users = new Users(origin, options.paths, options)
    const run = { app, origin, users, observed, progress, signal }
    notes = await prepare(run, options)
    await alone(run, options.durationMs * ALONE_SHARE)
    await together(run, options.users, options.durationMs * (1 - ALONE_SHARE))
    // Refused connections after SIGTERM are correct.
    asked = { answers: users.answers, failures: users.failures }
    shutdown = await end(run)
  } catch (error) {
    failure = signal.aborted ? signal.reason : error
  } finally {
    users?.close()
    await app?.stop()
    progress.clear()
  }
  const facts = observed.serving()
  observed.remove()
  if (users === undefined || facts.length === 0) return { result: undefined, failure }
  return { result: resultOf({ options, origin, startedAt, facts, asked: asked ?? users, shutdown, notes }), failure }
}

async function prepare({ app, origin, users, observed, signal }: Run, options: AuditOptions): Promise<string[]> {
  if (observed.facts().length === 0) {
    throw new UserError(
      `'${options.command.join(' ')}' listens, but is not a Node program (or drops NODE_OPTIONS): audit supports Node ` +
        `only; give it the command that starts node${quote(app.lastWords())}`,
    )
  }
  const redirects: string[] = []
  for (const path of options.paths) {
    signal.throwIfAborted()
    redirects.push(...(await checkAnswers(app, new URL(path, origin), options, ANSWER_MS)))
  }
  await users.askAll(WARM_UP)
  signal.throwIfAborted()
  return redirects
}

interface Run {
  readonly app: App
  readonly origin: string
  readonly users: Users
  readonly observed: Observed
  readonly progress: Progress
  readonly signal: AbortSignal
}

async function alone({ app, observed, users, progress, signal }: Run, durationMs: number): Promise<void> {
  await observed.enter('alone', signal)
  checkServing(observed)
  progress.line(
    `one request at a time for ${formatDuration(durationMs)}, at least ${LEAST_REQUESTS} requests to each path`,
  )
  await users.askEach(durationMs, LEAST_REQUESTS, LONGEST_ALONE_MS, () => {
    signal.throwIfAborted()
    progress.status(`one request at a time: ${users.answers} answers`)
    checkRunning(app)
  })
}

async function together(run: Run, count: number, durationMs: number): Promise<void> {
  const { app, observed, users, progress, signal } = run
  await observed.enter('together', signal)
  const what = plural(count, 'user')
  progress.line(`${what}, ${formatDuration(durationMs)}`)
  users.start(count)
  const until = Date.now() + durationMs
  const untilAtMost = until + durationMs * (LONGEST_TOGETHER - 1)
  while (Date.now() < (users.haveAskedAll ? until : untilAtMost)) {
    const leftMs = Math.max(0, until - Date.now())
    progress.status(`${what}: ${users.answers} answers, ${Math.ceil(leftMs / 1000)} s to go`)
    await sleep(Math.min(leftMs || 100, 500), undefined, { signal })
    checkRunning(app)
  }
  await observed.enter('end', signal)
}

/** Sends SIGTERM while the users continue. */
async function end({ observed, users, progress, signal }: Run): Promise<Shutdown> {
  progress.line('SIGTERM while requests continue')
  progress.status('waiting for the process to end')
  const serving = observed.serving()
  const pids = serving.map(({ pid }) => pid)
  const inFlight = users.inFlight()
  for (const pid of new Set(serving.map(({ terminate }) => terminate))) {
    try {
      process.kill(pid, 'SIGTERM')
    } catch {} // The process has already ended.
  }
  const startedMs = Date.now()
  let left = false
  let running = await livingOf(pids)
  while (running.size > 0 && Date.now() - startedMs < GRACE_MS) {
    await sleep(LOOK_EVERY_MS, undefined, { signal })
    if (!left && Date.now() - startedMs > AFTER_SIGTERM_MS) {
      left = true
      void users.stop()
    }
    running = await livingOf(pids)
  }
  // The last answers may still be in transit.
  const readBy = Date.now() + AFTER_SIGTERM_MS
  while (inFlight.some(({ status }) => status === undefined) && Date.now() < readBy) {
    await sleep(LOOK_EVERY_MS, undefined, { signal })
  }
  const cut = inFlight.filter(({ status }) => typeof status !== 'number').length
  return { inFlight: inFlight.length, cut, stillRunning: [...running], waitedMs: Date.now() - startedMs }
}

function checkRunning(app: App): void {
  if (app.ended() === undefined) return
  throw new UserError(`the command ${app.ended()} during the audit${quote(app.lastWords())}`)
}

function checkServing(observed: Observed): void {
  const serving = observed.serving()
  if (serving.length === 0) {
    throw new UserError(
      'the command answers, but not with an HTTP/1 server of Node: another program, an HTTP/2 server or a server ' +
        'that is not built on node:http answers, which audit cannot observe',
    )
  }
  // Only newer versions publish the events that the observer needs on diagnostics channels.
  const old = serving.find(({ node }) => isOldNode(node))
  if (old !== undefined) throw new UserError(`the command runs on Node ${old.node}; audit needs 22.12 or later`)
}

interface Ended {
  readonly options: AuditOptions
  readonly origin: string
  readonly startedAt: Date
  readonly facts: readonly Facts[]
  readonly asked: Pick<Users, 'answers' | 'failures'>
  readonly shutdown: Shutdown | null
  readonly notes: readonly string[]
}

function resultOf({ options, origin, startedAt, facts, asked, shutdown, notes }: Ended): AuditResult {
  const findings = judge(facts, shutdown)
  // As the server receives them: `/a b` becomes `/a%20b`.
  const paths = options.paths.map(path => new URL(path, origin)).map(({ pathname, search }) => pathname + search)
  const { answers, failures } = asked
  const failed = `${failures} of ${answers} requests were answered with an error, or not at all`
  return {
    kind: 'audit',
    version: 1,
    command: options.command,
    origin,
    method: options.method,
    paths: options.paths,
    node: [...new Set(facts.map(({ node }) => node))],
    startedAt: startedAt.toISOString(),
    elapsedMs: Date.now() - startedAt.getTime(),
    requests: facts.reduce((sum, each) => sum + each.requests, 0),
    incomplete: shutdown === null,
    findings,
    worst: findings[0]?.severity ?? null,
    tooFew: pathsWithTooFewRequests(facts, paths),
    notes: failures > answers / 10 ? [...notes, `${failed}, so the audit saw less than usual`] : notes,
  }
}
