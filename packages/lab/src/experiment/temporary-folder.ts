/** A folder for the files of a run. */
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Context } from './scenario.ts'

/** Gone after the run. */
export function temporaryFolder(context: Context, name: string): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), `meltlab-${name}-`))
  context.cleanUp(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
