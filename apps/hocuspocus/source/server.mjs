// Hocuspocus: documents that several clients edit at the same time, stored in files. HTTP clients can read and append.
import { readFile, mkdir, writeFile } from 'node:fs/promises'
import { text as read } from 'node:stream/consumers'
import { join } from 'node:path'
import { Database } from '@hocuspocus/extension-database'
import { Server } from '@hocuspocus/server'

const folder = join(process.env.DATA, 'documents')
await mkdir(folder)
const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
const htmlOf = words =>
  words
    .split('\n')
    .map(line => `<p>${line.replace(/[&<>]/g, letter => ESCAPES[letter])}</p>\n`)
    .join('')

/** Opens a document like a connected client, and closes it after `use`. */
async function withDocument(name, use) {
  const connection = await server.hocuspocus.openDirectConnection(name, {})
  try {
    return await use(connection)
  } finally {
    await connection.disconnect()
  }
}

async function answer(request, response) {
  const url = new URL(request.url, 'http://here')
  const say = (status, type, body) => response.writeHead(status, { 'Content-Type': type }).end(body)
  const [, name] = /^\/documents\/([a-z-]+)$/.exec(url.pathname) ?? []
  if (name === undefined) return say(404, 'text/plain', 'nothing here\n')
  if (request.method === 'POST') {
    const words = await read(request)
    const length = await withDocument(name, async connection => {
      await connection.transact(document => {
        const content = document.getText('content')
        content.insert(content.length, words)
      })
      return connection.document.getText('content').length
    })
    return say(201, 'application/json', JSON.stringify({ name, length }))
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') return say(405, 'text/plain', 'read it or add to it\n')
  const words = await withDocument(name, ({ document }) => document.getText('content').toString())
  if (url.searchParams.get('as') === 'html') return say(200, 'text/html', htmlOf(words))
  say(200, 'text/plain', words)
}

const server = new Server({
  address: '127.0.0.1',
  port: Number(process.env.PORT),
  quiet: true,
  extensions: [
    new Database({
      fetch: ({ documentName }) => readFile(join(folder, documentName)).catch(() => null),
      store: ({ documentName, state }) => writeFile(join(folder, documentName), state),
    }),
  ],
  async onAuthenticate({ token }) {
    if (token !== 'secret') throw new Error('not authorized')
  },
  async onRequest({ request, response }) {
    if (request.url === '/') return
    await answer(request, response)
    // A hook rejects to prevent the default answer.
    return Promise.reject()
  },
})
await server.listen()
