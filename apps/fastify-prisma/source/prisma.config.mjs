import { defineConfig } from 'prisma/config'

// Only `prisma generate` reads it: the service has an adapter of its own.
export default defineConfig({ schema: './schema.prisma', datasource: { url: 'postgresql://nobody@127.0.0.1/none' } })
