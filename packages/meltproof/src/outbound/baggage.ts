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
  const others = given?.includes(NAME)
    ? given
        .split(',')
        .filter(member => nameOf(member) !== NAME)
        .join(',')
    : given
  return others === undefined || others.trim() === '' ? RETRY : `${RETRY},${others}`
}

function nameOf(member: string): string {
  return member.split(/[=;]/, 1)[0]!.trim()
}
