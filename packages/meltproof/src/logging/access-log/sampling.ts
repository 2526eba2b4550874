/** Which requests get a line. Pure: told the pressure, handed the chance. */

export interface Sampling {
  /** Share of ordinary requests that get a line while there is no pressure, 0 to 1. */
  readonly calm: number
  /** The same at full pressure. In between it goes in a straight line. */
  readonly pressed: number
}

/** The share at this pressure (0 to 1). */
export function shareAt({ calm, pressed }: Sampling, pressure: number): number {
  const at = Math.min(1, Math.max(0, pressure))
  return calm + (pressed - calm) * at
}

/** What somebody will look for afterwards gets its line whatever the pressure: errors, sheds, clients that gave up. */
export function always(status: number, outcome: string): boolean {
  return outcome !== 'answered' || status === 0 || status >= 400
}
