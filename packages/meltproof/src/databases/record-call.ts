/** Records a query or command, while somebody observes calls (docs/observe.md). */
import { calls } from '../channels.ts'
import type { OutboundRecord } from '../record.ts'
import { RecordedCall } from '../recorded-call.ts'

export interface Whereabouts {
  readonly host?: unknown
  readonly port?: unknown
  readonly database?: unknown
}

/** Undefined while nobody observes calls. `where` must hold no user name and no password. */
export function recordCall(
  kind: OutboundRecord['kind'],
  where: Whereabouts,
  operation: string,
): RecordedCall | undefined {
  return calls.hasSubscribers ? new RecordedCall(kind, peerOf(where), operation) : undefined
}

function peerOf({ host, port, database }: Whereabouts): string {
  const name = typeof host === 'string' && host !== '' ? host : 'localhost'
  const at = typeof port === 'number' || typeof port === 'string' ? `${name}:${port}` : name
  return typeof database === 'string' || typeof database === 'number' ? `${at}/${database}` : at
}
