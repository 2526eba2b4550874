/** Variations of the usual load, which offers one route at multiples of its own capacity. Plain data. */
export interface LoadShape {
  /** The path for measuring the capacity. @default the offered path */
  readonly capacityPath?: string
  /** Requests per second, if the capacity cannot be measured. */
  readonly capacity?: number
  /** The maximum share of requests that can be goodput. @default 1 */
  readonly goodShare?: number
  /** A second route that gets a constant rate in addition. */
  readonly beside?: { readonly path: string; readonly rate: number }
  /** Multiples above this rate are omitted, because the generator could not send them. */
  readonly mostRate?: number
  /** True if each client has its own connection, too many for this machine: `newestFirst` in load/plan.ts. */
  readonly crowd?: true
}
