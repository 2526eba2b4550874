// Runs `prisma generate` without the engine that it would download, because a client with an adapter needs none.
import { execFileSync } from 'node:child_process'

execFileSync(process.execPath, ['node_modules/prisma/build/index.js', 'generate', '--config', 'prisma.config.mjs'], {
  stdio: 'inherit',
  env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' },
})
