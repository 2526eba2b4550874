/** What an experiment is: its story, the commands it compares, and what it expects to see. Plain data. */
export interface Scenario {
  readonly name: string
  readonly title: string
  /** Where it comes from and what it shows, in a few sentences. */
  readonly story: string
  readonly command: readonly string[]
  /** Further arms, as --also takes them. */
  readonly also: readonly string[]
  readonly expects: readonly string[]
}
