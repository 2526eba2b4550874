/** What a soak scenario is. One a file in this folder; scripts/soak.ts runs every one it finds. */
export interface SoakScenario {
  /** What it keeps doing, in a few words. */
  readonly name: string
  /** Begins. The steps are called over and over, many a second, until the soak ends; one that throws fails it. */
  start(): Promise<Soaking>
}

export interface Soaking {
  /** One round of use; the next begins when it is over. */
  step(): Promise<void>
  /** Ends it; everything it held has to be gone afterwards. */
  stop(): Promise<void>
  /** Counts to print at the end, by what they count. */
  readonly counts: Readonly<Record<string, number>>
}
