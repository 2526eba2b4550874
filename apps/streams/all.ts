/** Carries out a stream of any kind. */
import type { Stream } from '../runner/definition.ts'
import { download } from './download.ts'
import { lines } from './lines.ts'
import { longPoll } from './long-poll.ts'
import type { Place } from './outcome.ts'
import { program } from './program.ts'
import { upload } from './upload.ts'
import { websocket } from './websocket.ts'

export function converse(stream: Stream, place: Place): Promise<string> {
  switch (stream.kind) {
    case 'websocket':
      return websocket(stream, place)
    case 'lines':
      return lines(stream, place)
    case 'long-poll':
      return longPoll(stream, place)
    case 'upload':
      return upload(stream, place)
    case 'download':
      return download(stream, place)
    case 'program':
      return program(stream, place)
  }
}
