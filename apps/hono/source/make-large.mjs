// Writes a file that takes 20 s to download.
import { mkdirSync, writeFileSync } from 'node:fs'

mkdirSync('static', { recursive: true })
writeFileSync('static/large.bin', Buffer.alloc(32 << 20, 'hono '))
