/** The members of ioredis that meltproof uses. It does not import ioredis, because several copies may be installed. */

export interface Command {
  readonly name: string
  readonly args: readonly unknown[]
  readonly promise: Promise<unknown>
  reject(error: unknown): void
}

export interface Redis {
  sendCommand: (command: Command, stream?: object, ...rest: unknown[]) => unknown
  connect?: (...args: unknown[]) => unknown
  readonly status: string
  readonly options: { readonly enableAutoPipelining?: boolean; host?: unknown; port?: unknown; db?: unknown }
  readonly stream?: { destroy(): void }
  disconnect?: (reconnect: boolean) => void
  on?: (event: 'close', listener: () => void) => unknown
  once?: (event: 'close', listener: () => void) => unknown
  removeListener?: (event: 'close', listener: () => void) => unknown
  duplicate(options: object): {
    on(event: 'error' | 'connect', listener: () => void): unknown
    readonly stream?: { unref?(): void }
    call(...args: readonly string[]): Promise<unknown>
    disconnect(): void
  }
}

export function isRedis(value: object): value is Redis {
  const { sendCommand, status, options } = value as Partial<Redis>
  return typeof sendCommand === 'function' && typeof status === 'string' && typeof options === 'object'
}
