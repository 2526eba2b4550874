/** Creates a folder for the files of a run. */
import { chmodSync, rmSync } from 'node:fs'
import { privateFolder } from '../private-folder.ts'
import type { Context } from './scenario.ts'

/** The folder is removed after the run. Other users can enter it, because PostgreSQL refuses to run as root. */
export function temporaryFolder(context: Context, name: string): string {
  const folder = privateFolder(name)
  context.cleanUp(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  return folder
}
