/** Puts a function of ours in the place of somebody else's method, and takes it away again. */

export type Method = (...args: unknown[]) => unknown

/**
 * Puts `make(original, isOn)` in the place of `host[name]`. Returns the undo: the method is what it was, unless somebody
 * has replaced ours since. Ours may still be called then, through a wrapper or a copy: when off it must pass on.
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
  // With what hangs on it, such as the form that util.promisify() looks for.
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
