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
  /** Of Node in the audited processes. */
  readonly node: readonly string[]
  /** ISO 8601. */
  readonly startedAt: string
  readonly elapsedMs: number
  readonly requests: number
  /** Cut short, by Ctrl-C or because the app ended. */
  readonly incomplete: boolean
  /** The worst first. */
  readonly findings: readonly Finding[]
  /** Of the worst finding; null when there is none. */
  readonly worst: Severity | null
  /** Those of `paths` that were asked too little, one at a time, for holds and writes to be judged. */
  readonly tooFew: readonly string[]
  /** What a reader must know to believe this, in sentences. */
  readonly notes: readonly string[]
}
