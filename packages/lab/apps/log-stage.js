/**
 * Runs log-service.js with its stdout on STAGE, and reads SPEED lines a second. When the service has ended, it reads
 * the rest and writes to the file RESULT how many lines it got, how many were reported lost, and what the service wrote
 * to LOGGED.
 *
 * STAGE   null, file, pipe, blocking (a pipe that is set to block) or terminal
 * SPEED   lines a second; 0: reads nothing until the service ends; empty: as fast as they come
 */
import { execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const { STAGE, SPEED, RESULT, NODE_OPTIONS_OF_SERVICE: options = '' } = process.env
const speed = SPEED === '' || SPEED === undefined ? Number.POSITIVE_INFINITY : Number(SPEED)
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'meltlab-log-'))
const service = fileURLToPath(new URL('log-service.js', import.meta.url))
const LOGGED = path.join(folder, 'logged.json')
const env = { ...process.env, NODE_OPTIONS: options, LOGGED, ...(STAGE === 'blocking' ? { BLOCKING: '1' } : {}) }

/** Lines that fill the pipe at the start, as with a slow reader; they are not counted. */
const filler = '#'.repeat(63)
const lineLost = /meltproof: (\d+) lines? (?:of [a-z ]+ )?lost/
/** Ends a line that was only partly written when the process ended; meltproof reports this line as lost. */
const cutOff = '[meltproof: the rest of this line is lost]'
let got = 0
let told = 0
let rest = ''

function count(text) {
  const lines = (rest + text).split('\n')
  rest = lines.pop()
  for (const line of lines) {
    const lost = lineLost.exec(line)
    if (lost !== null) told += Number(lost[1])
    else if (line.trim() !== '' && !line.startsWith('meltproof:') && line !== filler && !line.includes(cutOff)) got++
  }
  return lines.length
}

/** Both ends of a pipe made by the kernel, because Node would give its child a socket. */
function makePipe() {
  const name = path.join(folder, 'pipe')
  execFileSync('mkfifo', [name])
  const read = fs.openSync(name, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
  return { read, write: fs.openSync(name, fs.constants.O_WRONLY) }
}

const log = path.join(folder, 'log')
let pipe
let out
if (STAGE === 'null' || STAGE === 'file') out = fs.openSync(STAGE === 'null' ? '/dev/null' : log, 'w')
else {
  pipe = makePipe()
  out = pipe.write
  // A pipe holds 65,536 bytes (pipe(7)).
  if (speed !== Number.POSITIVE_INFINITY) fs.writeSync(out, `${filler}\n`.repeat(1000))
}
const child =
  STAGE === 'terminal'
    ? spawn('script', ['-qfec', `${process.execPath} ${service} 2>${path.join(folder, 'errors')}`, '/dev/null'], {
        env,
        stdio: ['ignore', out, 'pipe'],
      })
    : spawn(process.execPath, [service], { env, stdio: ['ignore', out, 'pipe'] })
if (pipe !== undefined) fs.closeSync(out)

let errors = ''
child.stderr.setEncoding('utf8').on('data', text => {
  errors += text
})

const buffer = Buffer.allocUnsafe(65_536)
/** Returns the number of lines read; -1 if there is nothing to read now. */
function read(bytes) {
  try {
    const length = fs.readSync(pipe.read, buffer, 0, bytes)
    if (length === 0) return -1
    return count(buffer.toString('latin1', 0, length))
  } catch (error) {
    if (error.code === 'EAGAIN') return -1
    throw error
  }
}

const startedAt = performance.now()
let lines = 0
const reading =
  pipe === undefined || speed === 0
    ? undefined
    : setInterval(() => {
        // Small reads, like those of a reader of lines. After a read of too many lines, the next reads are delayed.
        while (lines < (speed * (performance.now() - startedAt)) / 1000) {
          const more = read(speed === Number.POSITIVE_INFINITY ? 65_536 : 1024)
          if (more === -1) break
          lines += more
        }
      }, 2)

child.on('exit', () => {
  clearInterval(reading)
  setTimeout(() => {
    if (pipe !== undefined) while (read(65_536) !== -1);
    if (STAGE === 'file') count(fs.readFileSync(log, 'latin1'))
    if (STAGE === 'terminal') errors += fs.readFileSync(path.join(folder, 'errors'), 'latin1')
    rest = ''
    count(errors)
    let ended = {}
    try {
      ended = JSON.parse(fs.readFileSync(LOGGED, 'utf8'))
    } catch {
      // The service was killed.
    }
    fs.rmSync(folder, { recursive: true, force: true })
    fs.writeFileSync(`${RESULT}.part`, JSON.stringify({ ...ended, got, told }))
    fs.renameSync(`${RESULT}.part`, RESULT)
    process.exit(0)
  }, 50)
})
process.on('SIGTERM', () => {
  child.kill('SIGTERM')
  fs.rmSync(folder, { recursive: true, force: true })
  setTimeout(() => process.exit(0), 200)
})
