/** Where and when a run was made, as its document says it. */
import { randomUUID } from 'node:crypto'
import { describeMachine, type Machine } from '../launch/machine.ts'

export interface Origin {
  readonly labVersion: string
  /** An id of the run, or of each that was merged: so that none is counted twice, nor compared with itself. */
  readonly runs: readonly string[]
  /** ISO 8601. */
  readonly startedAt: string
  /** That made the load: one, or those of the documents that were merged. */
  readonly machines: readonly Machine[]
}

/** Of a run that this machine makes. */
export function originHere(labVersion: string, startedAt: string): Origin {
  return { labVersion, runs: [randomUUID()], startedAt, machines: [describeMachine()] }
}
