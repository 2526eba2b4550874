export interface Sampling {
  /** Share of ordinary requests that is logged without pressure. */
  readonly calm: number
  readonly pressed: number
}

export function shareAt({ calm, pressed }: Sampling, pressure: number): number {
  return calm + (pressed - calm) * Math.min(1, Math.max(0, pressure))
}

/** Errors, sheds and aborted requests are logged at any pressure, because operators look for them. */
export function isAlwaysLogged(status: number, outcome: string): boolean {
  return outcome !== 'answered' || status === 0 || status >= 400
}
