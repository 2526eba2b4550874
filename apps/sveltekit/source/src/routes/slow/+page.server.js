// What is a promise is sent when it is there; the page goes ahead.
import { setTimeout as sleep } from 'node:timers/promises'

export const load = () => ({ quick: 'at once', late: sleep(12_000, 'late by 12 s') })
