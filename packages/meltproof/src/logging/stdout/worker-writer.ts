/** An outlet of a worker thread that writes to a descriptor of the process: it keeps its account in the ledger. */
import { Outlet, type Done, type OutletHooks, type OutletSettings } from './buffered-writer.ts'
import type { Sink } from './sink.ts'
import type { ThreadLedger } from './worker-backlog.ts'

export class ThreadOutlet extends Outlet {
  private readonly fd: 1 | 2
  private readonly ledger: ThreadLedger
  private inside = false

  constructor(fd: 1 | 2, ledger: ThreadLedger, sink: Sink, settings: OutletSettings, hooks: OutletHooks) {
    super(sink, settings, hooks)
    this.fd = fd
    this.ledger = ledger
  }

  override write(data: string | Uint8Array, done: Done | undefined): void {
    this.locked(() => super.write(data, done))
  }

  override flush(turnBytes?: number): void {
    this.locked(() => super.flush(turnBytes))
  }

  private locked(work: () => void): void {
    if (this.inside) {
      work()
      return
    }
    this.inside = true
    try {
      this.ledger.account(this.fd, work, () => this.owed)
    } finally {
      this.inside = false
    }
  }
}
