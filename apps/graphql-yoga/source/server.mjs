// GraphQL Yoga on node:http: queries, mutations, a subscription over server-sent events, an upload.
import { createHash, pbkdf2Sync } from 'node:crypto'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSchema, createYoga } from 'graphql-yoga'

const people = Array.from({ length: 50 }, (_, n) => ({
  id: `${n + 1}`,
  name: `Person ${n + 1}`,
  friend: `${(n % 50) + 1}`,
}))
const typeDefs = /* GraphQL */ `
  scalar File
  type Person { id: ID! name: String! friend: Person }
  type Query {
    people(first: Int = 10): [Person!]!
    person(id: ID!): Person
    later(ms: Int!): String!
    score(of: String!): String!
    broken: String
  }
  type Mutation {
    rename(id: ID!, name: String!): Person
    upload(file: File!): String!
  }
  type Subscription { ticks(count: Int!, everyMs: Int!): Int! }
`
const find = id => people.find(person => person.id === id)
const resolvers = {
  Person: { friend: person => find(person.friend) },
  Query: {
    people: (_, { first }) => people.slice(0, first),
    person: (_, { id }) => find(id),
    later: (_, { ms }) => sleep(ms, 'waited'),
    score: (_, { of }) => pbkdf2Sync(of, 'salt', 40_000, 32, 'sha256').toString('hex'),
    broken() {
      throw new Error('broken on purpose')
    },
  },
  Mutation: {
    rename: (_, { id, name }) => Object.assign(find(id), { name }),
    upload: async (_, { file }) => {
      const bytes = Buffer.from(await file.arrayBuffer())
      return `${file.name} ${bytes.length} ${createHash('sha256').update(bytes).digest('hex')}`
    },
  },
  Subscription: {
    ticks: {
      async *subscribe(_, { count, everyMs }) {
        for (let ticks = 1; ticks <= count; ticks++) {
          yield { ticks }
          await sleep(everyMs)
        }
      },
    },
  },
}
const yoga = createYoga({ schema: createSchema({ typeDefs, resolvers }), logging: false })
const server = http.createServer(yoga)
process.on('SIGTERM', () => server.close(() => process.exit(0)))
server.listen(Number(process.env.PORT), '127.0.0.1')
