export interface Sampling {
  /** Share of ordinary requests that get a line while there is no pressure. */
  readonly calm: number
  readonly pressed: number
}

export function shareAt({ calm, pressed }: Sampling, pressure: number): number {
  return calm + (pressed - calm) * Math.min(1, Math.max(0, pressure))
}

/** Errors, sheds and aborted requests get a line at any pressure, because operators look for them. */
export function isAlwaysLogged(status: number, outcome: string): boolean {
  return outcome !== 'answered' || status === 0 || status >= 400
}
