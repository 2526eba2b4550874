// A file worth 20 s of downloading.
import { mkdirSync, writeFileSync } from 'node:fs'

mkdirSync('public', { recursive: true })
writeFileSync('public/large.bin', Buffer.alloc(32 << 20, 'json-server '))
writeFileSync('public/index.html', '<h1>json-server</h1>\n')
