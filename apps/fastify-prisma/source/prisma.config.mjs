import { defineConfig } from 'prisma/config'

// Only `prisma generate` reads this file, because the service has its own adapter.
export default defineConfig({ schema: './schema.prisma', datasource: { url: 'postgresql://nobody@127.0.0.1/none' } })
