/** The document of `meltlab audit --json`. New fields may be added; these keep their meaning. */
import type { Severity } from './causes.ts'
import type { Finding } from './judge.ts'

export interface AuditResult {
  readonly kind: 'audit'
  readonly version: 1
  readonly command: readonly string[]
  readonly origin: string
  readonly method: string
  readonly paths: readonly string[]
  /** Versions of Node in the audited processes. */
  readonly node: readonly string[]
  /** ISO 8601. */
  readonly startedAt: string
  readonly elapsedMs: number
  readonly requests: number
  /** True if Ctrl-C or the end of the app stopped the audit early. */
  readonly incomplete: boolean
  /** Worst findings first. */
  readonly findings: readonly Finding[]
  /** Severity of the worst finding; null without findings. */
  readonly worst: Severity | null
  /** Paths that had too few sequential requests to judge their stalls and writes. */
  readonly tooFew: readonly string[]
  /** Sentences with caveats for the reader. */
  readonly notes: readonly string[]
}
