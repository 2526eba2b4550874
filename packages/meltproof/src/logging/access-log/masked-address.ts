/** Addresses without what tells one client from its neighbours. Pure. */

/** IPv4 to its /24, IPv6 to its /48; an IPv4 address written as IPv6 counts as IPv4. */
export function maskedAddress(full: string): string {
  const four = /^(?:::ffff:)?(\d+\.\d+\.\d+)\.\d+$/i.exec(full)
  if (four !== null) return `${four[1]}.0`
  const [head = '', tail] = full.split('%')[0]!.split('::')
  const groups = head === '' ? [] : head.split(':')
  // `::` stands for the zeros that are missing to eight groups.
  if (tail !== undefined) {
    const rest = tail === '' ? [] : tail.split(':')
    while (groups.length + rest.length < 8) groups.push('0')
    groups.push(...rest)
  }
  return `${groups.slice(0, 3).join(':')}::`
}
