import { setTimeout as sleep } from 'node:timers/promises'
import { defineEventHandler } from 'h3'

export default defineEventHandler(() => sleep(15_000, { waited: true }))
