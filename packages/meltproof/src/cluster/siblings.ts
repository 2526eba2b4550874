/**
 * Lets the processes of one cluster, also PM2's, find and ask each other: each listens on a socket in a folder that
 * only its user can enter. Messages through the primary are no alternative: the app listens to those, and PM2's primary
 * does not forward any.
 */
import { readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { clearTimeout, setTimeout } from 'node:timers'
import { quietly } from '../warnings.ts'
import { ownFolder, whenLeaving } from './own-folder.ts'

/** A process that takes longer than this to answer, ms, counts as stalled. Kubernetes' probes wait for 1 s. */
const PATIENCE_MS = 500
const SOCKET = /^(\d+)\.sock$/

/** The process id, and the answer: undefined from a process that is stalled, or disconnects before the end. */
type Answered<Answer> = readonly [pid: number, answer: Answer | undefined]

export class Siblings<Question, Answer> {
  readonly #folder: string

  /** @param answer returns this process's answer to a question of another one; both are JSON */
  constructor(name: string, answer: (question: Question) => object) {
    this.#folder = ownFolder(name)
    const server = createServer({ allowHalfOpen: true }, socket => {
      readAll(socket, heard => {
        try {
          socket.end(JSON.stringify(answer(JSON.parse(heard) as Question)))
        } catch {
          socket.destroy() // The message is incomplete, or its sender has disconnected.
        }
      })
    })
    server.on('error', () => undefined)
    // An earlier process with this id may have left a socket: a restarted container reuses its process ids and folder.
    const path = this.#path(process.pid)
    const unready = `${path}.new`
    rmSync(unready, { force: true })
    server.listen({ path: unready, exclusive: true })
    if (!server.listening) throw new Error(`a socket cannot be created at ${path}`)
    // The socket gets its final name once it listens, because other processes delete a socket that refuses connections.
    renameSync(unready, path)
    server.unref()
    whenLeaving(() => {
      rmSync(path, { force: true })
      rmdirSync(this.#folder)
    })
  }

  /** Asks all other processes, and returns the answers of those that live. */
  async ask(question: Question): Promise<Answered<Answer>[]> {
    const text = JSON.stringify(question)
    const names = quietly(() => readdirSync(this.#folder)) ?? []
    const pids = names.map(name => Number(SOCKET.exec(name)?.[1])).filter(pid => pid > 0 && pid !== process.pid)
    const answers = await Promise.all(pids.map(pid => this.#askOne(pid, text)))
    return answers.filter(answer => answer !== undefined)
  }

  #askOne(pid: number, text: string): Promise<Answered<Answer> | undefined> {
    return new Promise(resolve => {
      const path = this.#path(pid)
      const socket = connect({ path, allowHalfOpen: true })
      const end = (answer: Answered<Answer> | undefined): void => {
        clearTimeout(timer)
        socket.destroy()
        resolve(answer)
      }
      const timer = setTimeout(() => end([pid, undefined]), PATIENCE_MS).unref()
      socket.on('error', ({ code }: NodeJS.ErrnoException) => {
        const hasGone = code === 'ECONNREFUSED' || code === 'ENOENT'
        if (hasGone) rmSync(path, { force: true })
        end(hasGone ? undefined : [pid, undefined])
      })
      readAll(socket, heard => end([pid, quietly(() => JSON.parse(heard) as Answer)]))
      socket.end(text)
    })
  }

  #path(pid: number): string {
    return join(this.#folder, `${pid}.sock`)
  }
}

/** Calls `act` with the text that the other side sent. The text is incomplete if the other side disconnected. */
function readAll(socket: Socket, act: (heard: string) => void): void {
  let heard = ''
  socket.unref()
  socket.setEncoding('utf8')
  socket.on('data', text => {
    heard += text
  })
  socket.on('end', () => act(heard))
  socket.on('error', () => undefined)
}
