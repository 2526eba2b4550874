/** Returns the number of bytes passed to `write()` or `end()`. */
export function sizeOf(chunk: unknown, encoding: unknown): number {
  if (typeof chunk === 'string') {
    return Buffer.byteLength(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
  }
  return ArrayBuffer.isView(chunk) ? chunk.byteLength : 0
}
