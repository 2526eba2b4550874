/** Builds expectations from a sentence, the figures it uses, and a judgement of them. Pure. */
import type { Expectation } from './scenario.ts'

/** It is not judged if `figures` returns undefined or an empty list. `judge` returns pass or fail, and a text. */
export function expectation<Measured, Figures>(
  name: string,
  figures: (measured: Measured) => Figures | undefined,
  judge: (figures: Figures, measured: Measured) => readonly [pass: boolean, words: string],
  { needsQuiet = true }: { readonly needsQuiet?: boolean } = {},
): Expectation<Measured> {
  return {
    name,
    needsQuiet,
    judge: measured => {
      const found = figures(measured)
      if (found === undefined || (Array.isArray(found) && found.length === 0)) return undefined
      const [pass, words] = judge(found, measured)
      return { pass, measured: words }
    },
  }
}

/** The values if all are defined. */
export function allOf<T>(...values: readonly (T | undefined)[]): readonly T[] | undefined {
  return values.includes(undefined) ? undefined : (values as readonly T[])
}
