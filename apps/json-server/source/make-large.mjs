// Writes a file that takes 20 s to download.
import { mkdirSync, writeFileSync } from 'node:fs'

mkdirSync('public', { recursive: true })
writeFileSync('public/large.bin', Buffer.alloc(32 << 20, 'json-server '))
writeFileSync('public/index.html', '<h1>json-server</h1>\n')
