/** An expectation of a load run, and its result. Types only. */
export interface Judged {
  /** As text: `p99 < 250ms`. */
  readonly expected: string
  readonly met: boolean
  /** With its unit; `no answer` without a figure. */
  readonly measured: string
  readonly value: number | null
  readonly unit: 'ms' | '%' | '/s' | 'requests'
  /** Why the figure is not certified; absent if it is. */
  readonly doubt?: string
}
