/** meltproof/haproxy: informs HAProxy, through its agent check, how many requests the service accepts at once. */
import { holdPort } from '../cluster/held-port.ts'
import { checkGuard, checkNumber, checkObject, invalidOption, rejectUnknown } from '../options.ts'
import { replaceMethod } from '../replace-method.ts'
import type { Guard } from '../server/guard.ts'
import { flushDelayed } from '../server/operate/held-answers-of.ts'
import { warnOnce } from '../warnings.ts'
import { AgentServer } from './agent-server.ts'

/** @experimental */
export interface AgentOptions {
  /** The `agent-port` of HAProxy's server line. */
  readonly port: number
  /** The address to listen on. Every client that reaches it can ask. @default '127.0.0.1' */
  readonly host?: string
}

/** @experimental */
export interface Agent {
  /** Closes the port at once. HAProxy keeps the last number it received. */
  close(): void
}

/**
 * Answers HAProxy's agent checks for one server. The agent ends with `guard.close()`, once it has informed each
 * balancer that there is no limit any more.
 *
 * ```js
 * agent(protect(server), { port: 9402 })
 * ```
 *
 * If the port is taken, the agent warns and retries every second. The service runs without it.
 * @throws MeltproofError for an option that is unknown or out of range.
 * @experimental
 */
export function agent(guard: Guard, options: AgentOptions): Agent {
  checkGuard('agent(guard, options)', guard, 'stats')
  checkObject('agent(guard, options): options', options, 'an object with a port')
  rejectUnknown('agent(guard, options)', options, ['port', 'host'])
  const { host = '127.0.0.1' } = options
  const port = checkNumber('port', options.port, { min: 0, max: 65_535, whole: true })
  if (typeof host !== 'string' || host === '') invalidOption('host', 'an address', host)
  const agentServer = new AgentServer(
    () => guard.stats(),
    () => flushDelayed(guard),
  )
  const say = warnOnce()
  const giveUp = holdPort(agentServer.server, { host, port }, why =>
    say(`meltproof/haproxy cannot answer HAProxy's agent checks. ${why}`),
  )
  const undo = replaceMethod(guard, 'close', original => () => {
    giveUp()
    // A draining server must receive no requests, but release() would let HAProxy send some.
    if (!guard.stats().draining) agentServer.release()
    return original()
  })
  return {
    close: () => {
      undo()
      giveUp()
      agentServer.close()
    },
  }
}
