/**
 * The phone's key: 192 random bits that are sent only to authenticate its requests. It is read each time, because
 * another tab may have deleted it together with everything that was sent with it.
 */

/**
 * @param {Pick<import('./outbox.js').Outbox, 'get' | 'set'>} outbox
 * @returns {Promise<string>} the stored key, or a new one if none is stored
 */
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
