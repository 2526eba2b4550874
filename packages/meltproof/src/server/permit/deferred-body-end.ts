/** Keeps the end of a request's body from whoever reads it. Knows Node's streams; knows nothing of permits. */
import { AsyncResource } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'

/**
 * When the client has sent all, `onEnd` is called in the place of the stream's end, which comes when it calls `release`.
 * What readers of the stream throw then surfaces as uncaught, as it does without us.
 */
export function deferBodyEnd(request: IncomingMessage, onEnd: (release: () => void) => void): void {
  const { push } = request
  request.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (chunk !== null) return push.call(request, chunk, encoding)
    Reflect.deleteProperty(request, 'push')
    const release = (): void => {
      try {
        push.call(request, null)
      } catch (error) {
        process.nextTick(() => {
          throw error
        })
      }
    }
    onEnd(AsyncResource.bind(release))
    return false
  }
}
