// `prisma generate`. It would like to download an engine, of which a client with an adapter needs nothing.
import { execFileSync } from 'node:child_process'

execFileSync(process.execPath, ['node_modules/prisma/build/index.js', 'generate', '--config', 'prisma.config.mjs'], {
  stdio: 'inherit',
  env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' },
})
