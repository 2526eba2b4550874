/**
 * How an app of a scenario calls a dependency: the same node:http request for every arm, and what the arm adds to it.
 *
 * ARM=bare       nothing: as long as it takes
 * ARM=naive      the timeout everybody reaches for, `timeout` of the request: it watches for silence on the socket
 * ARM=meltproof  `install()` of meltproof/outbound; the calls are the bare ones
 * LIMIT_MS       the limit of the two
 * LIMITS         JSON of further limits for `install()`
 */
import http from 'node:http'

export const arm = process.env.ARM ?? 'bare'
export const limitMs = Number(process.env.LIMIT_MS ?? 3000)

export async function prepare() {
  if (arm !== 'meltproof') return
  const { install } = await import('meltproof/outbound')
  install({ totalMs: limitMs, ...JSON.parse(process.env.LIMITS ?? '{}') })
}

/**
 * The text of an answer 2xx.
 * @param {string} url
 * @param {http.RequestOptions} [options]
 * @returns {Promise<string>}
 */
export function get(url, options = {}) {
  return new Promise((resolve, reject) => {
    const request = http.get(url, arm === 'naive' ? { ...options, timeout: limitMs } : options, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        text += chunk
      })
      response.on('error', reject)
      response.on('end', () => {
        if (response.statusCode < 300) resolve(text)
        else reject(new Error(`the dependency answered ${response.statusCode}`))
      })
    })
    // Only here: the global agent of Node has a timeout of 5 s of its own, and who listens to it has one, too.
    if (arm === 'naive') request.on('timeout', () => request.destroy(new Error(`timeout of ${limitMs} ms exceeded`)))
    request.on('error', reject)
  })
}

/** 504 where the deadline passed while a dependency kept us waiting, else 500; the reason is the body. */
export function sendError(response, error) {
  if (response.headersSent || response.destroyed) return
  response.statusCode = error.code === 'MELTPROOF_DEADLINE_EXCEEDED' ? 504 : 500
  response.setHeader('content-type', 'text/plain')
  response.end(`${error.message}\n`)
}
