/** Reads the kind of a request from the operator's function. */
import type { IncomingMessage } from 'node:http'
import type { Warn } from '../../warnings.ts'
import { safely } from './operators-function.ts'

export type KindName = (request: IncomingMessage) => string | undefined

export function kindNames(kind: KindName, warn: Warn): KindName {
  return safely({
    name: 'kind',
    call: kind,
    read: answer => (typeof answer === 'string' ? answer : undefined),
    expected: 'a string or undefined',
    otherwise: 'such requests are grouped by their path',
    warn,
  })
}
