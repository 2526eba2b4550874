/** Agent checks of one HAProxy: a new connection each time, at the interval of the shipped configuration. */
import net from 'node:net'

/** `agent-inter` in deploy/haproxy/haproxy.cfg, ms. */
const EVERY_MS = 200

/** Checks the agent on this port of 127.0.0.1 until the returned function is called. */
export function checkAgent(port: number): () => void {
  const checks = setInterval(() => {
    net
      .connect(port, '127.0.0.1')
      .on('error', () => {})
      .resume()
  }, EVERY_MS)
  return () => clearInterval(checks)
}
