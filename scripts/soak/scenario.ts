/** The type of a soak scenario. Each file in this folder has one, and scripts/soak.ts runs all of them. */
export interface SoakScenario {
  /** Its work, in a few words. */
  readonly name: string
  /**
   * Starts the scenario. Its steps run repeatedly, many per second, until the soak ends. A step that throws fails it.
   */
  start(): Promise<Soaking>
}

export interface Soaking {
  /** One round of work. The next begins when it has ended. */
  step(): Promise<void>
  /** Ends the scenario, and must release everything it holds. */
  stop(): Promise<void>
  /** Counts to print at the end, by name. */
  readonly counts: Readonly<Record<string, number>>
}
