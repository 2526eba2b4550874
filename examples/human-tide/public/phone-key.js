/**
 * Who we are: 192 random bits that never leave this phone but to prove it. Read anew each time: another tab may have
 * thrown it away together with all that was sent with it.
 */

/** @param {Pick<import('./outbox.js').Outbox, 'get' | 'set'>} outbox @returns {Promise<string>} made up when there is none */
export async function keyOf(outbox) {
  const known = await outbox.get('key')
  if (known !== undefined) return known
  const bytes = crypto.getRandomValues(new Uint8Array(24))
  const key = btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
  await outbox.set('key', key)
  return key
}
