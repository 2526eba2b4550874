/**
 * How the app of a scenario calls a dependency: the same node:http request in every arm, and what the arm adds.
 *
 * ARM=bare       nothing: a call takes as long as its answer
 * ARM=naive      the usual `timeout` of the request, which limits only silence on the socket
 * ARM=meltproof  `install()` of meltproof/outbound; the calls are those of bare
 * LIMIT_MS       the limit of naive and meltproof
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
 * Resolves to the text of a 2xx answer.
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
    // Other arms must not listen: Node's global agent has a timeout of 5 s, which would end their calls.
    if (arm === 'naive') request.on('timeout', () => request.destroy(new Error(`timeout of ${limitMs} ms exceeded`)))
    request.on('error', reject)
  })
}

/** Answers 504 if the deadline passed during the call of a dependency, else 500; the body is the reason. */
export function sendError(response, error) {
  if (response.headersSent || response.destroyed) return
  response.statusCode = error.code === 'MELTPROOF_DEADLINE_EXCEEDED' ? 504 : 500
  response.setHeader('content-type', 'text/plain')
  response.end(`${error.message}\n`)
}
