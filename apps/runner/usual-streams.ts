/** Streams that most apps have in the same form, and the upstream service of such streams. */
import { join } from 'node:path'
import type { Ask, Stream } from './definition.ts'

/** An `upstream` (definition.ts) that answers /ndjson, /json and /sse in three pieces, with silences of 12 s. */
export const UPSTREAM_IN_PIECES: readonly string[] = [join(import.meta.dirname, 'upstream-in-pieces.mjs')]

/** Three lines, with silences of 12 s. */
export function inPieces(name: string, ask: Ask, line: RegExp): Stream {
  return { kind: 'lines', name, ask, line, count: 3, silenceMs: 12_000 }
}

/** Each message is answered with `echo ...`. */
export function echoed(name: string, path: string): Stream {
  return {
    kind: 'websocket',
    name,
    path,
    steps: [
      { send: 'before' },
      { expect: /echo before/ },
      { pauseMs: 12_000 },
      { send: 'after' },
      { expect: /echo after/ },
    ],
  }
}

export function longPoll(path: string): Stream {
  return { kind: 'long-poll', name: 'long poll of 15 s', ask: { path }, waitMs: 15_000 }
}

export function slowUpload(path: string, headers?: Ask['headers']): Stream {
  return {
    kind: 'upload',
    name: 'upload of 20 s',
    ask: { method: 'POST', path, ...(headers && { headers }) },
    body: () => Buffer.alloc(2_000_000, 'upload '),
    overMs: 20_000,
  }
}

export function slowDownload(path: string): Stream {
  return { kind: 'download', name: 'download of 20 s', ask: { path }, bytes: 32 << 20, overMs: 20_000 }
}
