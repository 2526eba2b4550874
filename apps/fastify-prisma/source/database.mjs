// Prisma's client with its default pool of ten connections, and the same tables and rows at every start.
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from './generated/client.ts'

export const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) })

/** Creates the tables and rows. `prisma migrate` would download an engine for this. */
export async function migrate() {
  const statements = [
    'create table "Author" (id serial primary key, name text not null)',
    `create table "Post" (id serial primary key, title text not null, body text not null, likes int not null default 0,
      "authorId" int not null references "Author" (id))`,
    `create table "Comment" (id serial primary key, text text not null,
      "postId" int not null references "Post" (id) on delete cascade)`,
    'create index on "Post" ("authorId")',
    'create index on "Comment" ("postId")',
    `insert into "Author" (name) select 'Author ' || n from generate_series(1, 20) n`,
    `insert into "Post" (title, body, likes, "authorId")
      select 'Title ' || n || case when n % 40 = 0 then ' of goodput' else '' end, repeat('text ' || n || ' ', 60),
        n * 7919 % 1009, n % 20 + 1 from generate_series(1, 200) n`,
    `insert into "Comment" (text, "postId") select 'comment ' || n, n % 200 + 1 from generate_series(1, 1000) n`,
  ]
  for (const statement of statements) await prisma.$executeRawUnsafe(statement)
}
