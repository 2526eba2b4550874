export function load() {
  throw new Error('broken on purpose')
}
