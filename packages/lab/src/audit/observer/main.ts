/**
 * Runs inside the audited process: writes observations to a file in the folder MELTLAB_AUDIT, and reads the phase
 * there.
 */
import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { isMainThread } from 'node:worker_threads'
import type { Facts, Phase } from '../facts.ts'
import { watchDatabases } from './databases.ts'
import { watchLoop } from './loop.ts'
import { Observations, quietly } from './observations.ts'
import { watchFetch, watchHttp } from './outbound.ts'
import { Servers } from './servers.ts'
import { writeWhole } from '../../write-whole.ts'
import { watchStdout } from './stdout.ts'

const LOOK_EVERY_MS = 100

const folder = process.env['MELTLAB_AUDIT']
// A worker thread answers no requests, so its loop does not matter.
if (folder !== undefined && isMainThread) quietly(() => observe(folder))

function observe(folder: string): void {
  const observations = new Observations()
  const servers = new Servers(observations)
  for (const watch of [watchFetch, watchHttp, watchDatabases, watchStdout]) quietly(() => watch(observations))
  let stopLoop: ReturnType<typeof watchLoop> = () => []
  let phase: Phase = 'start'
  let holds: Facts['holds'] = []
  const file = path.join(folder, `${process.pid}.json`)

  const write = (exit: Facts['exit']): void => {
    const facts: Facts = {
      pid: process.pid,
      node: process.version,
      phase,
      requests: servers.requests,
      tallies: observations.tallies(),
      servers: servers.all(),
      holds,
      paths: servers.paths(),
      terminate: cluster.isWorker ? process.ppid : process.pid,
      listensToSigterm: process.listenerCount('SIGTERM') > 0,
      exit,
    }
    writeWhole(file, JSON.stringify(facts))
  }
  const enter = (next: Phase): void => {
    if (next === 'alone') {
      stopLoop = watchLoop(observations)
      servers.alone = true
    }
    if (phase === 'alone') {
      holds = stopLoop()
      servers.endAlone()
    }
    phase = next
    observations.on = phase === 'alone' || phase === 'together'
  }
  const look = (): void => {
    const next = readFileSync(path.join(folder, 'phase'), 'utf8') as Phase
    if (next !== phase) enter(next)
    if (phase !== 'start') write(null)
  }
  write(null)
  setInterval(() => quietly(look), LOOK_EVERY_MS).unref()
  process.on('exit', () => quietly(() => write(servers.atExit())))
}
