/** A reporter for node --test: a line for each test file, with its milliseconds. Node tells them since 22.12. */
interface Summary {
  readonly file?: string
  readonly duration_ms: number
}

export default async function* fileTimes(
  events: AsyncIterable<{ readonly type: string; readonly data: unknown }>,
): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (type !== 'test:summary') continue
    const { file, duration_ms } = data as Summary
    // The summary of all files together names none.
    if (file !== undefined) yield `${Math.round(duration_ms)} ${file}\n`
  }
}
