/** Finds the cgroup in recorded trees, and reports one that cannot be read. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findMemoryGroup, reclaimableBytes } from '../../src/signals/memory-group.ts'

const MB = 1024 * 1024
const MACHINE = 16 * 1024 * MB
const NO_LIMIT = '9223372036854771712\n'

const V1_MOUNT = '31 23 0:27 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory'
const V2_MOUNT = '30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate'
const CPU_MOUNT = '32 23 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct'

/** A tree of files. An Error is thrown instead of returning text. */
function tree(files: Readonly<Record<string, string | Error>>): (path: string) => string {
  return path => {
    const text = files[path]
    if (typeof text === 'string') return text
    throw text ?? Object.assign(new Error(`no such file: ${path}`), { code: 'ENOENT' })
  }
}
const denied = Object.assign(new Error('permission denied'), { code: 'EACCES' })
const found = (files: Readonly<Record<string, string | Error>>) => findMemoryGroup(tree(files), MACHINE)

describe('the memory cgroup of this process', () => {
  it('is its own cgroup under version 1', () => {
    assert.deepEqual(
      found({
        '/proc/self/mountinfo': `${CPU_MOUNT}\n${V1_MOUNT}\n`,
        '/proc/self/cgroup': '4:memory:/app\n1:cpu,cpuacct:/\n0::/\n',
        '/sys/fs/cgroup/memory/app/memory.limit_in_bytes': `${256 * MB}\n`,
        '/sys/fs/cgroup/memory/app/memory.usage_in_bytes': '1000\n',
        '/sys/fs/cgroup/memory/memory.limit_in_bytes': NO_LIMIT,
      }),
      {
        limitBytes: 256 * MB,
        usageFile: '/sys/fs/cgroup/memory/app/memory.usage_in_bytes',
        statFile: '/sys/fs/cgroup/memory/app/memory.stat',
        reclaimable: ['total_inactive_file', 'total_active_file'],
      },
    )
  })

  it('is the mounted cgroup in a version 1 container whose /proc has the path of the host', () => {
    const group = found({
      '/proc/self/mountinfo': V1_MOUNT.replace(' / ', ' /docker/abc '),
      '/proc/self/cgroup': '4:memory:/docker/abc\n',
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': `${512 * MB}\n`,
      '/sys/fs/cgroup/memory/memory.usage_in_bytes': '1000\n',
    })
    assert.ok(group !== undefined)
    assert.deepEqual([group.limitBytes / MB, group.usageFile], [512, '/sys/fs/cgroup/memory/memory.usage_in_bytes'])
  })

  it('is the root of the namespace in a version 2 container', () => {
    const group = found({
      '/proc/self/mountinfo': V2_MOUNT,
      '/proc/self/cgroup': '0::/\n',
      '/sys/fs/cgroup/memory.max': `${256 * MB}\n`,
      '/sys/fs/cgroup/memory.current': '1000\n',
    })
    assert.deepEqual(group?.reclaimable, ['inactive_file', 'active_file', 'slab_reclaimable'])
  })

  it('is the nearest ancestor with a limit in nested version 2', () => {
    const group = found({
      '/proc/self/mountinfo': V2_MOUNT,
      '/proc/self/cgroup': '0::/pods/pod 1/app\n',
      '/sys/fs/cgroup/pods/pod 1/app/memory.max': 'max\n',
      '/sys/fs/cgroup/pods/pod 1/memory.max': `${300 * MB}\n`,
      '/sys/fs/cgroup/pods/pod 1/memory.current': '1000\n',
      '/sys/fs/cgroup/pods/memory.max': `${4096 * MB}\n`,
    })
    assert.ok(group !== undefined)
    assert.deepEqual([group.limitBytes / MB, group.usageFile], [300, '/sys/fs/cgroup/pods/pod 1/memory.current'])
  })

  it('is the version 1 memory cgroup in a hybrid tree, wherever it is mounted', () => {
    const group = found({
      '/proc/self/mountinfo': `${V2_MOUNT.replace('/sys/fs/cgroup', '/sys/fs/cgroup/unified')}\n${V1_MOUNT.replace('/sys/fs/cgroup/memory', '/my\\040groups')}\n`,
      '/proc/self/cgroup': '4:memory:/\n0::/\n',
      '/my groups/memory.limit_in_bytes': `${128 * MB}\n`,
      '/my groups/memory.usage_in_bytes': '1000\n',
    })
    assert.equal(group?.limitBytes, 128 * MB)
  })

  it('is undefined without a limit, with a limit above the memory of the machine, and without cgroups', () => {
    const v1 = { '/proc/self/mountinfo': V1_MOUNT, '/proc/self/cgroup': '4:memory:/\n' }
    assert.equal(found({ ...v1, '/sys/fs/cgroup/memory/memory.limit_in_bytes': NO_LIMIT }), undefined)
    assert.equal(found({ ...v1, '/sys/fs/cgroup/memory/memory.limit_in_bytes': `${2 * MACHINE}\n` }), undefined)
    const v2 = { '/proc/self/mountinfo': V2_MOUNT, '/proc/self/cgroup': '0::/app\n' }
    assert.equal(found({ ...v2, '/sys/fs/cgroup/app/memory.max': 'max\n' }), undefined)
    assert.equal(found({ '/proc/self/mountinfo': CPU_MOUNT, '/proc/self/cgroup': '1:cpu:/\n' }), undefined)
    assert.equal(found({}), undefined)
  })

  it('throws the reason if its limit or usage cannot be read', () => {
    const v2 = { '/proc/self/mountinfo': V2_MOUNT, '/proc/self/cgroup': '0::/app\n' }
    const limited = { ...v2, '/sys/fs/cgroup/app/memory.max': '1000000\n' }
    for (const [files, message] of [
      [{ ...v2, '/sys/fs/cgroup/app/memory.max': denied }, '/sys/fs/cgroup/app/memory.max: EACCES'],
      [{ ...limited, '/sys/fs/cgroup/app/memory.current': denied }, '/sys/fs/cgroup/app/memory.current: EACCES'],
      [limited, '/sys/fs/cgroup/app/memory.current contains no number'],
      [{ '/proc/self/mountinfo': denied, '/proc/self/cgroup': '' }, '/proc/self/mountinfo: EACCES'],
    ] as const) {
      assert.throws(() => found(files), { message })
    }
  })

  it('has its inactive and active files and its slab as reclaimable bytes', () => {
    const stat = 'anon 9000\nfile 500\ninactive_file 300\nactive_file 100\nslab_reclaimable 7\nshmem 100\n'
    assert.equal(reclaimableBytes(stat, ['inactive_file', 'active_file', 'slab_reclaimable']), 407)
    assert.equal(reclaimableBytes('', ['inactive_file']), 0)
  })
})
