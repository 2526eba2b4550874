/** Creates a folder for the files of a run. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Context } from './scenario.ts'

/** The folder is removed after the run. Other users can enter it, because PostgreSQL refuses to run as root. */
export function temporaryFolder(context: Context, name: string): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), `meltlab-${name}-`))
  context.cleanUp(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  return folder
}
