import { defineConfig } from 'prisma/config'

// The address is not used, because the adapter makes the connections.
export default defineConfig({ schema: './schema.prisma', datasource: { url: 'postgresql://nobody@127.0.0.1/none' } })
