/** Answers every request after 600 ms. On SIGTERM it shuts its server down by LIBRARY, and exits with 3 on success. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { sayPort } from './report.cjs'

const require = createRequire(import.meta.url)
const server = createServer((_, response) => {
  setTimeout(() => response.end('served'), 600)
})
const exit = error => process.exit(error ? 1 : 3)
const onSignal = shutDown => process.on('SIGTERM', shutDown)

const LIBRARIES = {
  'close()': () => onSignal(() => server.close(exit)),
  'close() as a promise': () => onSignal(() => promisify(server.close.bind(server))().then(() => exit(), exit)),
  '@godaddy/terminus': () => require('@godaddy/terminus').createTerminus(server, { onSignal: async () => exit() }),
  'http-graceful-shutdown': () => require('http-graceful-shutdown')(server, { onShutdown: async () => exit() }),
  'http-terminator': () => {
    const { terminate } = require('http-terminator').createHttpTerminator({ server })
    onSignal(() => terminate().then(() => exit(), exit))
  },
  stoppable: () => {
    require('stoppable')(server)
    onSignal(() => server.stop(exit))
  },
  /** The second close() gets an error as without meltproof. */
  'close() twice after another listen()': () =>
    onSignal(async () => {
      await once(server.listen(0, '127.0.0.1'), 'listening')
      server.close()
      server.close(error => exit(error?.code !== 'ERR_SERVER_NOT_RUNNING'))
    }),
}

LIBRARIES[process.env.LIBRARY]()
server.listen(0, '127.0.0.1', () => sayPort(server))
