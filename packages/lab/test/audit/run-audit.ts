/** Runs `meltlab audit` in its own process, and finds the processes it left behind. */
import { type CliEnd, type CliOptions, carrying, runCli } from '../run-cli.ts'

export interface AuditEnd extends CliEnd {
  readonly strays: readonly string[]
}

let runs = 0

export async function audit(args: readonly string[], options: CliOptions = {}): Promise<AuditEnd> {
  const mark = `audit-${process.pid}-${runs++}`
  const ended = await runCli(['audit', ...args], { ...options, mark })
  return { ...ended, strays: await carrying(mark) }
}
