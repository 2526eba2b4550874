/**
 * What an app is to the runner: the contract of every `apps/<name>/app.ts`. Types only.
 *
 * Its packages, with exact versions, are in `apps/<name>/source/package.json`; what else is in that folder is copied
 * beside them. In strings, `{port}` is the port to listen on, `{data}` an empty folder of this run, and `{upstream}` the
 * port of the app's upstream.
 */

export interface AppDefinition {
  /** As the table names it. */
  readonly title: string
  /** The package whose version the table names. */
  readonly main: string
  /** Arguments of node, in the installed folder. */
  readonly run: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Commands of node that build it, once after every change of its sources. */
  readonly build?: readonly (readonly string[])[]
  /** Arguments of node for a process the app talks to. It runs bare in every arm. */
  readonly upstream?: readonly string[]
  /** Answers below 500 once the app is ready. Without it a TCP connection is enough. */
  readonly ready?: string
  /** Main paths, asked one after another. */
  readonly paths: readonly Ask[]
  /** Speaks to the app where HTTP/1.1 can not: arguments of node; what it prints are its answers. */
  readonly pathsProgram?: readonly string[]
  /** What differs from run to run in honest answers, besides dates and UUIDs. */
  readonly volatile?: readonly RegExp[]
  /** The streams it has: each must live through its silences. */
  readonly streams: readonly Stream[]
  /** What its load speaks, if not HTTP/1.1: a shed costs more by another protocol. */
  readonly protocol?: 'grpc'
  /** The route that costs it most, as load. */
  readonly dearest: Ask | LoadProgram
}

export interface Ask {
  /** @default 'GET' */
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Values kept by earlier asks are written where `{name}` stands. */
  readonly body?: string
  /** Keeps what the first group of each expression finds in the answer, such as a token or an id. */
  readonly keep?: Readonly<Record<string, RegExp>>
}

/** Arguments of node for a program that makes load by another protocol; see load/program.ts. */
export interface LoadProgram {
  readonly program: readonly string[]
}

interface Common {
  readonly name: string
  /** Asked before it starts, for a token or an id. */
  readonly before?: readonly Ask[]
  /** Asked while it is under way. */
  readonly meanwhile?: { readonly afterMs: number; readonly ask: Ask }
}

/** Steps of a WebSocket conversation, in turn. */
export type Step = { readonly send: string } | { readonly expect: RegExp } | { readonly pauseMs: number }

export type Stream = Common &
  (
    | {
        readonly kind: 'websocket'
        readonly path: string
        readonly steps: readonly Step[]
        /** Messages the protocol asks to be answered at once. */
        readonly pong?: { readonly ping: string; readonly pong: string }
      }
    /** A body in pieces: server-sent events, ndjson, a page that is rendered while it is sent. */
    | {
        readonly kind: 'lines'
        readonly ask: Ask
        /** Lines that count. */
        readonly line: RegExp
        readonly count: number
        /** @default a line feed */
        readonly separator?: string
        /** The longest silence between two of them lasts at least this. */
        readonly silenceMs: number
      }
    /** One answer that comes after `waitMs`. */
    | { readonly kind: 'long-poll'; readonly ask: Ask; readonly waitMs: number }
    /** A body that takes `overMs` to send. */
    | { readonly kind: 'upload'; readonly ask: Ask; readonly body: () => Buffer; readonly overMs: number }
    /** A body of at least `bytes` that is read over `overMs`. */
    | { readonly kind: 'download'; readonly ask: Ask; readonly bytes: number; readonly overMs: number }
    /** What it prints is the answer; it fails with an exit code. */
    | { readonly kind: 'program'; readonly run: readonly string[] }
  )

/** Without meltproof, with it, with it draining on SIGTERM, and the first two beside OpenTelemetry and prom-client. */
export type Arm = 'bare' | 'register' | 'register+drain' | 'bare+companions' | 'register+companions'
