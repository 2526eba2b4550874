/** Makes expectations of three parts: a sentence, the figures it is about, and what they say. Pure. */
import type { Expectation } from './scenario.ts'

/** Not judged while `figures` returns undefined. `judge` says whether they are right, and what they are, in words. */
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
      if (found === undefined) return undefined
      const [pass, words] = judge(found, measured)
      return { pass, measured: words }
    },
  }
}

/** The values, once all of them are there. */
export function allOf<T>(...values: readonly (T | undefined)[]): readonly T[] | undefined {
  return values.includes(undefined) ? undefined : (values as readonly T[])
}
