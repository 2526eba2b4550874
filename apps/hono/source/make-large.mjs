// A file worth 20 s of downloading.
import { mkdirSync, writeFileSync } from 'node:fs'

mkdirSync('static', { recursive: true })
writeFileSync('static/large.bin', Buffer.alloc(32 << 20, 'hono '))
