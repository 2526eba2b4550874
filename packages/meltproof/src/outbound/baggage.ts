/**
 * meltproof's member in the `baggage` field (W3C Baggage). Tiers with OpenTelemetry forward baggage from any sender, so
 * the member may only make meltproof retry less. Pure.
 */

const NAME = 'meltproof.retry'
const RETRY = `${NAME}=1`

/**
 * Returns the baggage of a retry: meltproof's member, once and first so that no length limit removes it, then the
 * others.
 * @param given the baggage that the app sends
 */
export function baggageOfRetry(given: string | undefined): string {
  const members = (given ?? '').split(',')
  const others = members.filter(member => member.split(/[=;]/, 1)[0]!.trim() !== NAME).join(',')
  return others.trim() === '' ? RETRY : `${RETRY},${others}`
}
