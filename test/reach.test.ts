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
  '.': { files: 119, lines: 12_250, goal: 9000 },
  './register': { files: 3, lines: 200 },
  './deadline': { files: 14, lines: 1150 },
  './limiter': { files: 62, lines: 7100, goal: 3500 },
  './outbound': { files: 86, lines: 9400 },
  './prometheus': { files: 114, lines: 11_700 },
  './otel': { files: 113, lines: 11_700 },
  './culprit': { files: 24, lines: 1800 },
  './haproxy': { files: 10, lines: 620 },
  './pg': { files: 87, lines: 9300 },
  './mysql2': { files: 86, lines: 9250 },
  './ioredis': { files: 79, lines: 8350 },
  './stdout': { files: 19, lines: 1550 },
  './access-log': { files: 106, lines: 10_975 },
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
        assert.ok(lines > most.goal, `${name} reaches ${lines} lines; the goal is met: make it the maximum`)
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
