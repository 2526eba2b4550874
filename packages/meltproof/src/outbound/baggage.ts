/**
 * A member of ours in the `baggage` of a request (W3C Baggage). Tiers with OpenTelemetry pass on baggage from any
 * sender, so ours can only make us do less. Pure.
 */

const NAME = 'meltproof.retry'
const RETRY = `${NAME}=1`

/**
 * The baggage of a retry: ours first, where no length limit cuts it off, and once. Members of others stay as they are.
 * @param given what the app sends
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
