// SvelteKit sends the page at once, and the value of the promise when it resolves.
import { setTimeout as sleep } from 'node:timers/promises'

export const load = () => ({ quick: 'at once', late: sleep(12_000, 'late by 12 s') })
