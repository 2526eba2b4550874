/** Describes where and when a run was made, for its document. */
import { randomUUID } from 'node:crypto'
import { describeMachine, type Machine } from '../launch/machine.ts'

export interface Origin {
  readonly labVersion: string
  /** The ids of the runs, so that a run is not compared with itself. */
  readonly runs: readonly string[]
  /** ISO 8601. */
  readonly startedAt: string
  readonly machines: readonly Machine[]
}

export function originHere(labVersion: string, startedAt: string): Origin {
  return { labVersion, runs: [randomUUID()], startedAt, machines: [describeMachine()] }
}
