/** Causes of overload failures, their severity, and a remedy in one line. */

/**
 * `melts`: the app stops answering under overload, or when a dependency hangs. `warning`: a deploy loses requests, or
 * the cause harms only some deployments, such as those with slow clients or a slow reader of stdout.
 */
export type Severity = 'melts' | 'warning'

/** Findings appear in this order: first the causes that melt an app. A remedy has at most 68 characters. */
export const CAUSES = {
  'loop-held': { severity: 'melts', remedy: 'do it in a worker thread, in slices, or with the asynchronous API' },
  'fetch-unbounded': {
    severity: 'melts',
    remedy: 'add { signal: AbortSignal.timeout(2000) }, or use meltproof/outbound',
  },
  'http-unbounded': {
    severity: 'melts',
    remedy: 'add { signal: AbortSignal.timeout(2000) }, or use meltproof/outbound',
  },
  'pg-query-unbounded': { severity: 'melts', remedy: 'new Pool({ query_timeout: 2000, statement_timeout: 2000 })' },
  'mysql-query-unbounded': {
    severity: 'melts',
    remedy: 'query({ sql, timeout: 2000 }), or bound() of meltproof/mysql2',
  },
  'pg-pool-endless': { severity: 'melts', remedy: 'new Pool({ connectionTimeoutMillis: 1000 })' },
  'mysql-pool-endless': {
    severity: 'melts',
    remedy: 'createPool({ queueLimit: 100 }), or bound() of meltproof/mysql2',
  },
  'agent-endless': { severity: 'melts', remedy: '{ signal: AbortSignal.timeout(2000) } also ends the wait in it' },
  'stdout-writes': {
    severity: 'warning',
    remedy: 'log less, or use meltproof/stdout, which does not wait for a reader',
  },
  'server-timeouts': { severity: 'warning', remedy: 'leave them at 60 s and 300 s, or set your own, but not 0' },
  'no-drain': { severity: 'warning', remedy: "process.on('SIGTERM', …): guard.drain() or server.close(), then exit" },
} as const

export type Cause = keyof typeof CAUSES
