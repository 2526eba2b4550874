/**
 * Answers requests that each hold one of a few connections for a while, like queries of a database. `holdMs` gets the
 * number of requests answered before. `mostWaiting` more may wait, and others get a 500 at once.
 */
export function poolOf({ connections, holdMs, mostWaiting = Number.POSITIVE_INFINITY }) {
  let free = connections
  let answered = 0
  const waiting = []
  const hold = response => {
    setTimeout(() => {
      answered++
      response.end('row')
      const next = waiting.shift()
      if (next) hold(next)
      else free++
    }, holdMs(answered))
  }
  return (_request, response) => {
    if (free > 0) {
      free--
      hold(response)
    } else if (waiting.length < mostWaiting) waiting.push(response)
    else response.writeHead(500).end()
  }
}
