/** Where and when a run was made, as its document says it. */
import { randomUUID } from 'node:crypto'
import { describeMachine, type Machine } from '../launch/machine.ts'

export interface Origin {
  readonly labVersion: string
  /** The id of the run, so that it is not compared with itself. */
  readonly runs: readonly string[]
  /** ISO 8601. */
  readonly startedAt: string
  /** The one that made the load. */
  readonly machines: readonly Machine[]
}

export function originHere(labVersion: string, startedAt: string): Origin {
  return { labVersion, runs: [randomUUID()], startedAt, machines: [describeMachine()] }
}
