import { setTimeout as sleep } from 'node:timers/promises'

export const dynamic = 'force-dynamic'

export const GET = async () => Response.json(await sleep(15_000, { waited: true }))
