import { setTimeout as sleep } from 'node:timers/promises'

export const GET = async () => Response.json(await sleep(15_000, { waited: true }))
