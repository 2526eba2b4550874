import { defineConfig } from 'prisma/config'

// Nothing of it is used: the adapter has the connections.
export default defineConfig({ schema: './schema.prisma', datasource: { url: 'postgresql://nobody@127.0.0.1/none' } })
