/** The unix socket that watched processes tell their figures to. */
import { mkdtempSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { BoundedLines } from '../numbers/bounded-lines.ts'
import { type Source, readTold, type Told } from './readings.ts'

/** Longer than any line of the reporter's. */
const LONGEST_LINE = 4096

export interface Listener {
  readonly path: string
  /** A process has come: one loaded meltproof/register, so it is Node. */
  readonly heard: boolean
  close(): void
}

export function listenForReadings(onTold: (told: Told, source: Source) => void): Promise<Listener> {
  // A folder of our own, which only we can read.
  const folder = mkdtempSync(path.join(tmpdir(), 'meltlab-watch-'))
  const socketPath = path.join(folder, 'told.sock')
  const connections = new Set<net.Socket>()
  let heard = false
  const server = net.createServer(connection => {
    heard = true
    connections.add(connection)
    const lines = new BoundedLines(LONGEST_LINE, line => {
      const told = readTold(line)
      if (told !== undefined) onTold(told, connection)
    })
    connection.setEncoding('utf8').on('data', text => lines.add(String(text)))
    connection.on('error', () => connection.destroy())
    connection.on('close', () => connections.delete(connection))
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(socketPath, () => {
      resolve({
        path: socketPath,
        get heard() {
          return heard
        },
        close() {
          server.close()
          for (const connection of connections) connection.destroy()
          rmSync(folder, { recursive: true, force: true })
        },
      })
    })
  })
}
