/** Percent-decoding that never throws: invalid encodings stay as they are. Pure, in one pass. */

/** An encoded ASCII character, or a run of other encoded bytes, which form UTF-8 only together. */
const ENCODED = /%[0-7][0-9a-f]|(?:%[89a-f][0-9a-f])+/gi

export function percentDecoded(text: string): string {
  if (!text.includes('%')) return text
  return text.replace(ENCODED, run => {
    const code = Number.parseInt(run.slice(1), 16)
    return code < 0x80 ? String.fromCharCode(code) : Buffer.from(run.replaceAll('%', ''), 'hex').toString()
  })
}
