/**
 * Percent-encoding as a lenient reader reads it: what is no encoding stays as it is, so nothing ever throws. Pure, in
 * one pass.
 */

/** An ASCII character, or a run of other bytes, which only together are UTF-8. */
const ENCODED = /%[0-7][0-9a-f]|(?:%[89a-f][0-9a-f])+/gi

export function percentDecoded(text: string): string {
  if (!text.includes('%')) return text
  return text.replace(ENCODED, run =>
    run.length === 3 && run.charCodeAt(1) < DIGIT_8
      ? String.fromCharCode(Number.parseInt(run.slice(1), 16))
      : Buffer.from(run.replaceAll('%', ''), 'hex').toString(),
  )
}

/** Code of `8`, with which the first byte that is not ASCII begins. */
const DIGIT_8 = 0x38
