/** Names given on the command line. Pure. */
import { nearestName } from './lab.ts'

/** The wanted members of `known`, in the order of `known`; all if none is given. Throws for an unknown name. */
export function pick<Name extends string>(what: string, wanted: readonly string[], known: readonly Name[]): Name[] {
  for (const name of wanted) {
    if ((known as readonly string[]).includes(name)) continue
    const near = nearestName(name, known)
    const hint = near === undefined ? `there are ${known.join(', ')}` : `did you mean ${near}?`
    throw new Error(`there is no ${what} '${name}'; ${hint}`)
  }
  return wanted.length === 0 ? [...known] : known.filter(name => wanted.includes(name))
}
