/** A real memory cgroup, which needs root, filled by request bodies and by the page cache. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

const MB = 1024 * 1024
const LIMIT_MB = 256
const isV1 = existsSync('/sys/fs/cgroup/memory/memory.limit_in_bytes')
const folder = join(isV1 ? '/sys/fs/cgroup/memory' : '/sys/fs/cgroup', `meltproof-test-${process.pid}`)
const scratch = mkdtempSync(join(tmpdir(), 'meltproof-memory-'))
const started: ChildProcess[] = []

const setLimit = (mb: number): void =>
  writeFileSync(join(folder, isV1 ? 'memory.limit_in_bytes' : 'memory.max'), String(mb * MB))

/** Returns undefined, or why no group can be created here. */
function makeGroup(): string | undefined {
  try {
    mkdirSync(folder)
    setLimit(LIMIT_MB)
    return undefined
  } catch (error) {
    return `no memory cgroup can be made here: ${String(error)}`
  }
}
const skip = makeGroup()
if (skip !== undefined) console.error(`NOT TESTED: ${skip}`)

after(async () => {
  for (const child of started) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  rmSync(scratch, { recursive: true, force: true })
  if (existsSync(folder)) rmdirSync(folder)
})

const inGroup = (...command: string[]): [string, string[]] => [
  'sh',
  ['-c', `echo $$ > ${folder}/cgroup.procs && exec "$@"`, 'sh', ...command],
]

async function startServer(): Promise<{ server: ChildProcess; port: number; warnings: string[] }> {
  const [command, args] = inGroup(process.execPath, join(import.meta.dirname, 'memory.fixture.ts'))
  const server = spawn(command, args, { stdio: ['ignore', 'inherit', 'pipe', 'ipc'] })
  started.push(server)
  const warnings: string[] = []
  createInterface(server.stderr!).on('line', line => {
    if (line.includes('MeltproofWarning')) warnings.push(line)
  })
  const [port] = (await once(server, 'message')) as [number]
  return { server, port, warnings }
}

/** Starts another process in the group that allocates memory until only this much of the limit is free. */
async function fillAllBut(leftMb: number): Promise<void> {
  const script = `
    const { readFileSync } = require('node:fs')
    const held = []
    const heldBytes = () => Number(/^${isV1 ? 'total_rss' : 'anon'} (.*)$/m.exec(readFileSync('${folder}/memory.stat', 'utf8'))[1])
    while (heldBytes() < ${(LIMIT_MB - leftMb) * MB}) held.push(Buffer.alloc(${MB}, 'h'))
    process.send('filled')
    process.on('disconnect', () => process.exit(held.length))`
  const [command, args] = inGroup(process.execPath, '-e', script)
  const other = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  started.push(other)
  await once(other, 'message')
}

/** Returns the status of the response, or undefined without one. */
function post(port: number, bytes: number): Promise<number | undefined> {
  return new Promise(resolve => {
    let status: number | undefined
    const socket = net.connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(status))
    socket.on('data', head => {
      status ??= Number(/^HTTP\/1\.1 (\d+)/.exec(head.toString('latin1'))?.[1])
      socket.destroy()
    })
    socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${bytes}\r\n\r\n`)
    socket.write(Buffer.alloc(bytes, 'b'))
  })
}

async function figures(server: ChildProcess): Promise<{ shed: number; explain: string }> {
  const said = once(server, 'message')
  server.send('figures')
  const [answer] = (await said) as [{ shed: number; explain: string }]
  return answer
}

describe('a server in a memory cgroup', { skip: skip ?? false }, () => {
  it('sheds what does not fit, says that memory is full, and keeps serving', async () => {
    const { server, port } = await startServer()
    const posts: Promise<number | undefined>[] = []
    while (posts.length < 300) {
      for (let i = 0; i < 5; i++) posts.push(post(port, MB))
      await sleep(50)
    }
    const statuses = await Promise.all(posts)
    assert.deepEqual([server.exitCode, server.signalCode], [null, null])
    assert.ok(statuses.filter(status => status === 200).length > 10, String(statuses))
    const { shed, explain } = await figures(server)
    assert.ok(shed > 0, String(shed))
    assert.match(explain, /the container's memory was nearly full: \d+ MB of 256 MB \(this process \d+ MB, its heap/)
    assert.equal(await post(port, 1000), 200)

    setLimit(2 * LIMIT_MB)
    await sleep(5000) // Until the next look at the limit.
    assert.equal(await post(port, 1000), 200)
    const more = await Promise.all(Array.from({ length: 60 }, () => post(port, MB)))
    assert.deepEqual(new Set(more), new Set([200]), 'the container has room again')
    assert.equal((await figures(server)).shed, shed)
    setLimit(LIMIT_MB)
    server.kill('SIGKILL')
    await once(server, 'exit')
  })

  it('sheds nothing if the page cache fills the group', async () => {
    const file = join(scratch, 'read')
    writeFileSync(file, Buffer.alloc(2 * LIMIT_MB * MB))
    const [command, args] = inGroup('sh', '-c', `cp ${file} ${scratch}/copy && cat ${scratch}/copy > /dev/null`)
    execFileSync(command, args)
    const { server, port } = await startServer()
    const statuses = await Promise.all(Array.from({ length: 20 }, () => post(port, MB)))
    assert.deepEqual(new Set(statuses), new Set([200]))
    assert.equal((await figures(server)).shed, 0)
    server.kill('SIGKILL')
    await once(server, 'exit')
  })

  it('sheds nothing if another process fills the group, and warns once', async () => {
    const { server, port, warnings } = await startServer()
    assert.equal(await post(port, 1000), 200)
    await fillAllBut(28)
    for (let round = 0; round < 3; round++) {
      const statuses = await Promise.all(Array.from({ length: 10 }, () => post(port, 10_000)))
      assert.deepEqual(new Set(statuses), new Set([200]))
    }
    assert.equal((await figures(server)).shed, 0)
    assert.match(warnings.join('\n'), /is nearly full \(2\d\d MB of 256 MB\), but not because of requests in service/)
    assert.equal(warnings.length, 1, warnings.join('\n'))
  })
})
