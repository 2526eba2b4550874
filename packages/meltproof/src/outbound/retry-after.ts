/** Reads how long an answer asks its client to wait (RFC 9110 section 10.2.3). Pure. */

/** The three date formats of section 5.6.7. `Date.parse()` accepts more, and reads '1.5' as a day in 2001. */
const HTTP_DATE = /^(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? [\w: -]{18,24}$/

/**
 * Returns milliseconds, 0 for a date in the past, or undefined for a value that is neither a number of seconds nor a
 * date.
 * @param date the `Date` field of the same answer. Both dates come from one clock, so the clocks of client and server
 * need not agree.
 * @param wallMs this process's clock, for answers without `Date`
 */
export function retryAfterMs(
  value: string | undefined,
  date: string | undefined,
  wallMs: () => number,
): number | undefined {
  if (value === undefined) return undefined
  const text = value.trim()
  if (/^\d+$/.test(text)) return Number(text) * 1000
  const untilMs = dateMs(text)
  return untilMs === undefined ? undefined : Math.max(0, untilMs - (dateMs(date?.trim() ?? '') ?? wallMs()))
}

function dateMs(text: string): number | undefined {
  if (!HTTP_DATE.test(text)) return undefined
  // The format of asctime() has no zone, and is in GMT like the others.
  const ms = Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`)
  return Number.isNaN(ms) ? undefined : ms
}
