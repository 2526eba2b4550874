import assert from 'node:assert/strict'
import { test } from 'node:test'
import { descendants, parseCores, parsePs, parseRss, parseStat } from '../../src/processes/proc-stat.ts'

test('parseStat() reads a stat line whatever the process name contains', () => {
  const line = '4711 (node (a) b) R 12 99 99 0 -1 4194304 5 0 0 0 150 25 0 0 20 0 11 0 100 1000 500'
  assert.deepEqual(parseStat(line), { pid: 4711, ppid: 12, pgid: 99, state: 'R', cpuMs: 1750, reapedMs: 0 })
  assert.equal(parseStat(''), undefined)
  assert.equal(parseStat('no process'), undefined)
})

test('parseRss() returns bytes, and 0 for a zombie', () => {
  assert.equal(parseRss('Name:\tnode\nVmRSS:\t   75432 kB\nThreads:\t11\n'), 75432 * 1024)
  assert.equal(parseRss('Name:\tnode\nState:\tZ (zombie)\n'), 0)
})

test('parsePs() reads the output of ps on macOS', () => {
  const rows = parsePs('  501   1   501 Ss   10240   0:01.50\n  502 501   501 R+       0 1-02:03:04\n\n')
  assert.deepEqual(rows, [
    { pid: 501, ppid: 1, pgid: 501, state: 'S', cpuMs: 1500, rssBytes: 10240 * 1024 },
    { pid: 502, ppid: 501, pgid: 501, state: 'R', cpuMs: 93_784_000, rssBytes: 0 },
  ])
})

test('parseCores() counts idle, iowait and stolen time as idle, and everything else as busy', () => {
  const stat = 'cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 10 1 5 100 20 0 3 1 4 0\ncpu1 0 0 0 50 0 0 0 0 0 0\nintr 1\n'
  assert.deepEqual(parseCores(stat), [
    { busyMs: 190, idleMs: 1210 },
    { busyMs: 0, idleMs: 500 },
  ])
})

test('descendants() finds all generations, the root first, and ends on a cycle', () => {
  const row = (pid: number, ppid: number) => ({ pid, ppid, pgid: 1, state: 'S', cpuMs: 0 })
  const rows = [row(5, 4), row(2, 1), row(3, 2), row(4, 3), row(9, 1), row(6, 6)]
  assert.deepEqual(descendants(rows, 2), [2, 3, 4, 5])
  assert.deepEqual(descendants(rows, 6), [6])
  assert.deepEqual(descendants(rows, 77), [77])
})
