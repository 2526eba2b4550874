/**
 * Which origins a deadline may be told to. A header field is information about the inside of a system, so it goes only
 * where the operator says. Pure.
 */
import { invalidOption } from '../options.ts'

/** Answers for an origin such as `http://prices:8080`, as `URL.origin` writes it. */
export type OriginTest = (origin: string) => boolean

/**
 * Of origins (`https://prices.internal:8443`), with `*.` in front of the host for anything below it
 * (`http://*.svc.cluster.local`, default port only), or a single `*` for everywhere. An empty list is nowhere.
 */
export function allowedOrigins(option: string, value: unknown): OriginTest {
  if (value === undefined) return () => false
  if (!Array.isArray(value)) invalidOption(option, 'a list of origins', value)
  const exact = new Set<string>()
  const below: { readonly scheme: string; readonly suffix: string }[] = []
  let everywhere = false
  for (const [i, entry] of (value as readonly unknown[]).entries()) {
    if (entry === '*') {
      everywhere = true
      continue
    }
    const expected = "an origin such as 'http://prices:8080', 'https://*.internal', or '*'"
    if (typeof entry !== 'string') invalidOption(`${option}[${i}]`, expected, entry)
    const wild = /^(https?:\/\/)\*\.(.+)$/i.exec(entry)
    const url = parse(wild === null ? entry : wild[1]! + wild[2]!)
    if (url === undefined) invalidOption(`${option}[${i}]`, expected, entry)
    if (wild === null) exact.add(url.origin)
    else below.push({ scheme: `${url.protocol}//`, suffix: `.${url.host}` })
  }
  return origin =>
    everywhere ||
    exact.has(origin) ||
    below.some(({ scheme, suffix }) => origin.startsWith(scheme) && origin.endsWith(suffix))
}

/** An http origin and nothing else: no path, no user, no query. */
function parse(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const { protocol, host, username, password, pathname, search, hash } = url
  if ((protocol !== 'http:' && protocol !== 'https:') || host.includes('*')) return undefined
  return username + password + search + hash === '' && pathname === '/' ? url : undefined
}
