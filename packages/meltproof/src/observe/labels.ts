/** The labels of metrics, and bounds on their values for any method, host and path that a client sends. Pure. */

/** The name of each label in Prometheus and in OpenTelemetry. */
export const LABELS = {
  method: { prometheus: 'http_request_method', otel: 'http.request.method' },
  scheme: { prometheus: 'url_scheme', otel: 'url.scheme' },
  status: { prometheus: 'http_response_status_code', otel: 'http.response.status_code' },
  error: { prometheus: 'error_type', otel: 'error.type' },
  route: { prometheus: 'http_route', otel: 'http.route' },
  address: { prometheus: 'server_address', otel: 'server.address' },
  port: { prometheus: 'server_port', otel: 'server.port' },
  peer: { prometheus: 'peer', otel: 'meltproof.peer' },
  outcome: { prometheus: 'outcome', otel: 'meltproof.outcome' },
  part: { prometheus: 'part', otel: 'meltproof.part' },
  verdict: { prometheus: 'verdict', otel: 'meltproof.verdict' },
  limiter: { prometheus: 'limiter', otel: 'meltproof.limiter.name' },
  pool: { prometheus: 'db_client_connection_pool_name', otel: 'db.client.connection.pool.name' },
  poolState: { prometheus: 'db_client_connection_state', otel: 'db.client.connection.state' },
  reason: { prometheus: 'reason', otel: 'meltproof.reason' },
  dryRun: { prometheus: 'dry_run', otel: 'meltproof.dry_run' },
  place: { prometheus: 'place', otel: 'meltproof.place' },
  stream: { prometheus: 'stream', otel: 'log.iostream' },
  state: { prometheus: 'nodejs_eventloop_state', otel: 'nodejs.eventloop.state' },
} as const

export type LabelName = keyof typeof LABELS

/** An absent value becomes an empty label value in Prometheus, and no attribute in OpenTelemetry. */
export type Labels = { readonly [Name in LabelName]?: string | number | undefined }

/** Returns a function that keeps the first `most` different names, and maps later ones to `other`. */
export function boundedNames(most: number): (name: string) => string {
  const known = new Set<string>()
  return name => {
    if (known.has(name)) return name
    if (known.size >= most) return 'other'
    known.add(name)
    return name
  }
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 }

/** Address and port of a peer such as `https://api.example:8443` or `db.example:5432/shop`. */
export function addressOf(peer: string): { readonly address: string; readonly port: number | undefined } {
  const match = /^(?:([a-z]+):\/\/)?(\[[^\]]*\]|[^:/]*)(?::(\d{1,5}))?(?:\/|$)/.exec(peer)
  const [, scheme = '', address = peer, port] = match ?? []
  return { address, port: port === undefined ? DEFAULT_PORTS[scheme] : Number(port) }
}
