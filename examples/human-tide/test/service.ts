/**
 * Starts the service in a separate process, which tests can kill, and simulates phones that record what was
 * acknowledged.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'

export interface Service {
  readonly origin: string
  readonly child: ChildProcess
  end(signal?: NodeJS.Signals): Promise<void>
}

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))

/** Resolves when the service listens. */
export async function startService(port: number, env: Record<string, string>): Promise<Service> {
  const child = spawn(process.execPath, [main], {
    env: { ...process.env, PORT: String(port), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout!, 'data')
  return {
    origin: `http://127.0.0.1:${port}`,
    child,
    async end(signal = 'SIGTERM') {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill(signal)
      await once(child, 'exit')
    },
  }
}

/**
 * Sends one position at a time, as fast as it is answered, and resends it until it is acknowledged, like a phone with a
 * full outbox.
 */
export class Phone {
  readonly key: string = randomBytes(24).toString('base64url')
  readonly acknowledged: number[] = []
  readonly statuses = new Map<number | 'failed', number>()
  #walking = true

  async walk(origin: string): Promise<void> {
    for (let seq = 1; this.#walking; ) {
      const status = await this.#send(origin, seq)
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
      if (status === 200) this.acknowledged.push(seq++)
      await sleep(status === 200 ? 5 : status === 429 ? 250 : 50)
    }
  }

  stop(): void {
    this.#walking = false
  }

  async #send(origin: string, seq: number): Promise<number | 'failed'> {
    const now = Date.now()
    const positions = [{ seq, at: now, lat: 54, lon: 8, accuracy: 5 }]
    try {
      const answer = await fetch(`${origin}/api/positions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'Ada', sentAt: now, positions }),
        signal: AbortSignal.timeout(10_000),
      })
      await answer.text()
      return answer.status
    } catch {
      return 'failed'
    }
  }

  /** Returns the acknowledged positions that are not in the database. */
  async missing(databaseUrl: string): Promise<number[]> {
    const client = new pg.Client(databaseUrl)
    await client.connect()
    const walker = createHash('sha256').update(this.key).digest('hex').slice(0, 32)
    const { rows } = await client.query('SELECT seq::int FROM positions WHERE walker = $1::uuid', [walker])
    await client.end()
    const stored = new Set(rows.map(row => row.seq))
    return this.acknowledged.filter(seq => !stored.has(seq))
  }
}
