/**
 * Finds the memory cgroup whose limit would end this process, and the files with its usage: version 1 and 2, nested,
 * and in containers with and without their own namespace. Pure: the caller passes the function that reads.
 */

/** Throws as `fs.readFileSync` does. */
export type ReadText = (path: string) => string

export interface MemoryGroup {
  readonly limitBytes: number
  readonly usageFile: string
  readonly statFile: string
  /** Entries of the stat file for memory that the kernel frees before it kills a process, such as the page cache. */
  readonly reclaimable: readonly string[]
}

const V1 = {
  limit: 'memory.limit_in_bytes',
  usage: 'memory.usage_in_bytes',
  reclaimable: ['total_inactive_file', 'total_active_file'],
}
const V2: typeof V1 = {
  limit: 'memory.max',
  usage: 'memory.current',
  reclaimable: ['inactive_file', 'active_file', 'slab_reclaimable'],
}

interface Mount {
  readonly version: typeof V1
  readonly root: string
  readonly folder: string
}

/**
 * Returns undefined without a group, or if none limits this process below the machine's own memory.
 * @throws if there is a group that cannot be read
 */
export function findMemoryGroup(read: ReadText, machineBytes: number): MemoryGroup | undefined {
  const mounts = textOf(read, '/proc/self/mountinfo')
  const groups = textOf(read, '/proc/self/cgroup')
  const mount = memoryMount(mounts ?? '')
  if (mount === undefined || groups === undefined) return undefined
  const { limit, usage, reclaimable } = mount.version
  let least: MemoryGroup | undefined
  let unreadable: unknown
  for (const folder of foldersUp(mount, ownPath(groups, mount.version))) {
    try {
      // The limit is NaN if the file says `max`, or does not exist.
      const limitBytes = Number.parseInt(textOf(read, `${folder}/${limit}`) ?? '', 10)
      if (!(limitBytes < (least?.limitBytes ?? machineBytes))) continue
      least = { limitBytes, usageFile: `${folder}/${usage}`, statFile: `${folder}/memory.stat`, reclaimable }
    } catch (error) {
      unreadable ??= error
    }
  }
  if (least === undefined && unreadable !== undefined) throw unreadable
  if (least === undefined) return undefined
  if (!/^\d/.test(textOf(read, least.usageFile) ?? '')) throw new Error(`${least.usageFile} contains no number`)
  return least
}

/** The sum of the named entries of a memory.stat file, bytes. */
export function reclaimableBytes(stat: string, names: readonly string[]): number {
  const values = names.map(name => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0))
  return values.reduce((sum, bytes) => sum + bytes, 0)
}

/** Returns undefined for a file that does not exist. */
function textOf(read: ReadText, path: string): string | undefined {
  try {
    return read(path)
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new Error(`${path}: ${String(code ?? error)}`, { cause: error })
  }
}

/** In a hybrid hierarchy version 1 controls memory, so it is preferred. */
function memoryMount(mountinfo: string): Mount | undefined {
  let second: Mount | undefined
  for (const line of mountinfo.split('\n')) {
    const [left = '', right = ''] = line.split(' - ')
    const [, , , root = '', folder = ''] = left.split(' ').map(unescaped)
    const [type, , options = ''] = right.split(' ')
    if (type === 'cgroup' && options.split(',').includes('memory')) return { version: V1, root, folder }
    if (type === 'cgroup2') second ??= { version: V2, root, folder }
  }
  return second
}

/** mountinfo writes spaces as `\040`. */
function unescaped(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
}

function ownPath(groups: string, version: typeof V1): string {
  for (const line of groups.split('\n')) {
    const [id, controllers = '', ...path] = line.split(':')
    const isOwn = version === V1 ? controllers.split(',').includes('memory') : id === '0' && controllers === ''
    if (isOwn) return path.join(':')
  }
  return '/'
}

/** Folders from the process's own group up to the mount. Reading fails for those that this namespace does not show. */
function foldersUp({ root, folder }: Mount, path: string): string[] {
  const isBelow = root === '/' || path === root || path.startsWith(`${root}/`)
  const below = isBelow && !path.startsWith('/..') ? path.slice(root === '/' ? 0 : root.length) : ''
  const parts = below.split('/').filter(part => part !== '')
  return Array.from({ length: parts.length + 1 }, (_, up) => [folder, ...parts.slice(0, parts.length - up)].join('/'))
}
