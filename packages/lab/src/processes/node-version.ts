/** The Node version of a command, which may differ from the lab's. Read through /proc; unknown elsewhere. */
import { execFile } from 'node:child_process'
import { readlink } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { processTree } from './process-tree.ts'

const run = promisify(execFile)

/** Version of the last Node below `root`, such as `v24.21.0`, because an npm script runs Node within Node. */
export async function nodeVersionOf(root: number): Promise<string | undefined> {
  const files = await Promise.all(
    (await processTree(root)).map(({ pid }) => readlink(`/proc/${pid}/exe`).catch(() => '')),
  )
  const node = files.findLast(file => /^node(js)?(\.exe)?$/.test(path.basename(file)))
  if (node === undefined) return undefined
  // The environment is empty, because NODE_OPTIONS may load modules that print.
  return run(node, ['--version'], { env: {} }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  )
}

/** True below 22.12, the minimum for meltproof's accept lanes. */
export function isOldNode(version: string): boolean {
  const [major = 0, minor = 0] = version.slice(1).split('.').map(Number)
  return major < 22 || (major === 22 && minor < 12)
}
