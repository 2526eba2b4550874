/** The writer of a worker thread to a descriptor of the process. It counts what it has not written in the backlog. */
import { BufferedWriter, type Done, type WriterHooks, type WriterSettings } from './buffered-writer.ts'
import type { Output } from './line-ends.ts'
import type { Sink } from './sink.ts'
import type { WorkerBacklog } from './worker-backlog.ts'

export class WorkerWriter extends BufferedWriter {
  private readonly fd: 1 | 2
  private readonly backlog: WorkerBacklog
  private counted = 0
  private locked = false

  constructor(fd: 1 | 2, backlog: WorkerBacklog, sink: Sink, settings: WriterSettings, hooks: WriterHooks) {
    super(sink, settings, hooks)
    this.fd = fd
    this.backlog = backlog
  }

  override write(output: Output, done: Done | undefined): void {
    this.withLock(() => super.write(output, done))
  }

  override flush(turnBytes?: number): void {
    this.withLock(() => super.flush(turnBytes))
  }

  private withLock(work: () => void): void {
    // write() calls flush().
    if (this.locked) {
      work()
      return
    }
    this.backlog.locked(() => {
      this.locked = true
      try {
        work()
      } finally {
        this.locked = false
        this.backlog.add(this.fd, this.unwrittenLines - this.counted)
        this.counted = this.unwrittenLines
      }
    })
  }
}
