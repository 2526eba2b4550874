/** Measures r, the CPU cost of one shed, with a server of lib/shed-servers.ts that sheds nearly every request. */
import { join } from 'node:path'
import { cpuPerRequest, median, startServer } from './measured-server.ts'

const LOADS = { standing: { connections: 1500, rate: 10_000 }, fresh: { connections: 'fresh', rate: 1500 } } as const

/** The median of `rounds`, us. */
export async function measureShedCost(mode: keyof typeof LOADS, rounds: number): Promise<number> {
  const costs: number[] = []
  for (let round = 0; round < rounds; round++) {
    const server = await startServer(join(import.meta.dirname, 'shed-servers.ts'), ['shed', 'busy', mode])
    costs.push(await cpuPerRequest(server, { ...LOADS[mode], seconds: 3 }))
    await server.stop()
  }
  return median(costs)
}
