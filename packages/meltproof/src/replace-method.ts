export type Method = (...args: unknown[]) => unknown

/**
 * Replaces `host[name]` by `make(original, isOn)`. The returned function restores the method, unless other code has
 * replaced it since. A wrapper or a copy may still call the replacement then, so the replacement must pass calls on
 * to `original` once `isOn()` returns false.
 */
export function replaceMethod(
  host: object,
  name: string,
  make: (original: Method, isOn: () => boolean) => Method,
): () => void {
  const methods = host as Record<string, Method | undefined>
  const own = Object.getOwnPropertyDescriptor(host, name)
  const method = methods[name]
  if (typeof method !== 'function') return () => undefined
  let on = true
  const original: Method = (...args) => Reflect.apply(method, host, args)
  const ours = make(original, () => on)
  // Copies properties of the method: util.promisify() reads one of them.
  Object.defineProperties(ours, Object.getOwnPropertyDescriptors(method))
  const enumerable = own?.enumerable ?? false
  Object.defineProperty(host, name, { value: ours, configurable: true, enumerable, writable: true })
  return () => {
    on = false
    if (methods[name] !== ours) return
    if (own === undefined) delete methods[name]
    else Object.defineProperty(host, name, own)
  }
}
