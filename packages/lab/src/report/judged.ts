/** What was expected of a load run, and what came of it. Types only. */
export interface Judged {
  /** As it reads: `p99 < 250ms`. */
  readonly expected: string
  readonly met: boolean
  /** With its unit; `no answer` where there is no figure. */
  readonly measured: string
  /** The figure itself, null where there is none. */
  readonly value: number | null
  readonly unit: 'ms' | '%' | '/s' | 'requests'
  /** Why the figure is not certified; absent when it is. */
  readonly doubt?: string
}
