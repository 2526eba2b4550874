/** A body in pieces, with silences between them: server-sent events, ndjson, a page rendered while it is sent. */
import { type Conversation, GRACE_MS } from './outcome.ts'

/** Timers of two processes may differ by this, ms. */
const TOLERANCE_MS = 500

export const lines: Conversation<'lines'> = ({ ask, line, count, silenceMs, separator = '\n' }, { asker }) => {
  const request = asker.open(ask, { agent: false })
  request.end(ask.body === undefined ? undefined : asker.fill(ask.body))
  return new Promise((resolve, reject) => {
    const seen: string[] = []
    let last = Date.now()
    let longest = 0
    let status = 0
    const say = (what: string): string => `${what} after ${seen.length} of ${count} lines, ${longest} ms of silence`
    const fail = (what: string): void => {
      clearTimeout(timer)
      reject(new Error(`${say(what)}, status ${status}`))
      request.destroy()
    }
    const wait = (): NodeJS.Timeout => setTimeout(() => fail('silent for too long'), silenceMs + GRACE_MS)
    let timer = wait()
    const take = (text: string): void => {
      if (seen.length === count) return
      clearTimeout(timer)
      timer = wait()
      if (seen.length > 0) longest = Math.max(longest, Date.now() - last)
      last = Date.now()
      seen.push(text)
      if (seen.length < count) return
      if (longest < silenceMs - TOLERANCE_MS) fail('the silence was too short to show anything')
      else {
        clearTimeout(timer)
        resolve([status, ...seen].join('\n'))
        request.destroy()
      }
    }
    request.once('error', error => fail(error.message))
    request.once('response', response => {
      status = response.statusCode!
      response.once('error', error => fail(error.message))
      response.once('close', () => fail(response.complete ? 'it ended' : 'it was cut'))
      response.setEncoding('utf8')
      let rest = ''
      response.on('data', (chunk: string) => {
        const pieces = (rest + chunk).split(separator)
        rest = pieces.pop()!
        for (const piece of pieces) if (line.test(piece)) take(piece)
      })
    })
  })
}
