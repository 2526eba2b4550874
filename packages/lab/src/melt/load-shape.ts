/** How a load may differ from one route that is offered at multiples of its own capacity. Plain data. */
export interface LoadShape {
  /** Asked when the capacity is measured; the offered path unless said. */
  readonly capacityPath?: string
  /** Requests a second, where there is no capacity to measure. */
  readonly capacity?: number
  /** Share of the requests that can be goodput at all; 1 unless said. */
  readonly goodShare?: number
  /** A second route, asked at a constant rate beside the first. */
  readonly beside?: { readonly path: string; readonly rate: number }
  /** Multiples above this rate are left out: the generator could not offer them. */
  readonly mostRate?: number
  /** Each client has a connection of its own, of which this machine has too few; see `newestFirst` in load/plan.ts. */
  readonly crowd?: true
}
