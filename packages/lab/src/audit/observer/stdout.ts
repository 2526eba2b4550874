/** Counts writes to stdout and stderr by call site. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { callSite } from './call-site.ts'
import { type Observations, quietly } from './observations.ts'

const NAMES = ['', 'stdout', 'stderr']

/** Packages through which loggers write. */
const WRITERS = ['sonic-boom', 'readable-stream', 'winston-transport']

export function watchStdout(observations: Observations): void {
  // A stream under meltproof/stdout does not block.
  const looks = (): boolean => observations.on && !(Symbol.for('meltproof.stdout') in process)
  const note = (name: string): void =>
    quietly(() => observations.add('stdout-writes', name, callSite(WRITERS).where, 0, observations.path))
  let inside = false
  for (const stream of [process.stdout, process.stderr]) {
    const { write } = stream
    const name = stream === process.stdout ? 'stdout' : 'stderr'
    stream.write = function (this: unknown, ...args: unknown[]): boolean {
      if (looks()) note(name)
      const before = inside
      inside = true
      try {
        return Reflect.apply(write, this, args)
      } finally {
        inside = before
      }
    } as typeof write
  }
  const { writeSync } = fs
  fs.writeSync = function (this: unknown, ...args: unknown[]): number {
    const name = NAMES[args[0] as number]
    if (name && !inside && looks()) note(name)
    return Reflect.apply(writeSync, this, args)
  } as typeof writeSync
  syncBuiltinESMExports()
}
