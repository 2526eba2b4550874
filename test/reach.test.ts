/**
 * The source that each entry of meltproof imports, in files and lines: the most that a reader of the entry has to read.
 * Lower a figure when you have made an entry smaller, and do not raise it without a reason.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, test } from 'node:test'
import { reachedFrom } from './source-imports.ts'

const PACKAGE = 'packages/meltproof'
const SOURCE = join(PACKAGE, 'src')

interface Reach {
  readonly files: number
  readonly lines: number
  /** The number of lines to aim for, where it is lower. */
  readonly goal?: number
}

const MOST: Readonly<Record<string, Reach>> = {
  '.': { files: 125, lines: 12_400, goal: 9000 },
  './register': { files: 3, lines: 250 },
  './deadline': { files: 14, lines: 1200 },
  './limiter': { files: 64, lines: 7200, goal: 3500 },
  './outbound': { files: 87, lines: 9450 },
  './prometheus': { files: 117, lines: 11_900 },
  './otel': { files: 115, lines: 11_850 },
  './culprit': { files: 25, lines: 1850 },
  './haproxy': { files: 11, lines: 650 },
  './pg': { files: 88, lines: 9350 },
  './mysql2': { files: 87, lines: 9300 },
  './ioredis': { files: 79, lines: 8400 },
  './stdout': { files: 20, lines: 1600 },
  './access-log': { files: 108, lines: 11_100 },
  './express': { files: 2, lines: 100 },
  './fastify': { files: 2, lines: 100 },
  './koa': { files: 2, lines: 100 },
  './hono': { files: 3, lines: 150 },
}

/** Parts that subscribe to the core's channels, or that the core loads on first use. The core does not import them. */
const EXTRAS = ['admin', 'culprit', 'databases', 'haproxy', 'logging', 'observe', 'outbound', 'register', 'timing']

const { exports } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
}
const entries = Object.entries(exports).flatMap(([name, entry]) =>
  typeof entry === 'string' ? [] : [{ name, file: entry.default.replace('./dist', SOURCE).replace(/\.js$/, '.ts') }],
)

describe('the source reached from an entry is bounded', () => {
  for (const { name, file } of entries) {
    test(name, t => {
      const most = MOST[name]
      assert.ok(most, `${name} is a new entry; give it its figures here`)
      const reached = [...reachedFrom(file)]
      const lines = reached.reduce((sum, each) => sum + readFileSync(each, 'utf8').split('\n').length - 1, 0)
      t.diagnostic(`${name} reaches ${reached.length} files, ${lines} lines`)
      assert.ok(reached.length <= most.files, `${name} reaches ${reached.length} files, more than ${most.files}`)
      assert.ok(lines <= most.lines, `${name} reaches ${lines} lines, more than ${most.lines}`)
      if (most.goal !== undefined)
        assert.ok(lines > most.goal, `${name} reaches ${lines} lines; its goal is met, so hold it`)
    })
  }

  for (const name of ['.', './limiter']) {
    test(`${name} reaches none of the extras`, () => {
      const { file } = entries.find(entry => entry.name === name)!
      const folders = [...reachedFrom(file)].map(each => relative(SOURCE, each).split('/')[0]!)
      assert.deepEqual(
        folders.filter(folder => EXTRAS.includes(folder)),
        [],
      )
    })
  }
})
