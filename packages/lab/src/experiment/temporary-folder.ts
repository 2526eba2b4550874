/** Creates a folder for the files of a run. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Context } from './scenario.ts'

/** Removed after the run. If the lab runs as root, PostgreSQL runs as its own user, who must be able to enter it. */
export function temporaryFolder(context: Context, name: string): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), `meltlab-${name}-`))
  context.cleanUp(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  return folder
}
