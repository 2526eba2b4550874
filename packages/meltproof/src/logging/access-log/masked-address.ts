/** Removes from addresses what identifies a single client. Pure. */

/** Reduces IPv4 to its /24 and IPv6 to its /48; an IPv4-mapped IPv6 address counts as IPv4. */
export function maskedAddress(full: string): string {
  const four = /^(?:::ffff:)?(\d+\.\d+\.\d+)\.\d+$/i.exec(full)
  if (four !== null) return `${four[1]}.0`
  // `::` stands for the missing zero groups, up to eight.
  const [head = '', tail = ''] = full.split('%')[0]!.split('::')
  const [first, last] = [head, tail].map(groups => groups.split(':').filter(group => group !== ''))
  const zeros = Array.from({ length: 8 - first!.length - last!.length }, () => '0')
  return `${[...first!, ...zeros, ...last!].slice(0, 3).join(':')}::`
}
