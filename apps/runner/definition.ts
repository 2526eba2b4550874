/**
 * The contract of every `apps/<name>/app.ts` with the runner. Types only.
 *
 * The packages of the app, with exact versions, are in `apps/<name>/source/package.json`. The other files of that
 * folder are copied next to them. In strings, `{port}` is the port to listen on, `{data}` an empty folder of this run,
 * and `{upstream}` the port of the app's upstream.
 */

export interface AppDefinition {
  /** Name of the app in the table. */
  readonly title: string
  /** The package whose version is in the table. */
  readonly main: string
  /** Arguments of node, in the installed folder. */
  readonly run: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Commands of node that build the app, once after every change of its sources. */
  readonly build?: readonly (readonly string[])[]
  /** Arguments of node for the upstream process of the app. It runs bare in every arm. */
  readonly upstream?: readonly string[]
  /** A path that is answered with a status below 500 once the app is ready. Without it, a TCP connection is enough. */
  readonly ready?: string
  /** Main paths, requested one after another. */
  readonly paths: readonly Ask[]
  /** Arguments of node for a program that speaks to the app where HTTP/1.1 cannot. Its output is the answers. */
  readonly pathsProgram?: readonly string[]
  /** Parts of answers that legitimately differ from run to run, other than dates and UUIDs. */
  readonly volatile?: readonly RegExp[]
  /** The streams of the app. Each must survive its silences. */
  readonly streams: readonly Stream[]
  /** Protocol of the load, if not HTTP/1.1. A shed costs more over another protocol. */
  readonly protocol?: 'grpc'
  /** The most expensive route, for the load. */
  readonly dearest: Ask | LoadProgram
}

export interface Ask {
  /** @default 'GET' */
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Values stored by earlier requests replace `{name}`. */
  readonly body?: string
  /** Stores what the first group of each expression matches in the answer, such as a token or an id. */
  readonly keep?: Readonly<Record<string, RegExp>>
}

/** Arguments of node for a program that makes load over another protocol; see load/program.ts. */
export interface LoadProgram {
  readonly program: readonly string[]
}

interface Common {
  readonly name: string
  /** Requests before the stream starts, for a token or an id. */
  readonly before?: readonly Ask[]
  /** A request during the stream. */
  readonly meanwhile?: { readonly afterMs: number; readonly ask: Ask }
}

/** Steps of a WebSocket conversation, in order. */
export type Step = { readonly send: string } | { readonly expect: RegExp } | { readonly pauseMs: number }

export type Stream = Common &
  (
    | {
        readonly kind: 'websocket'
        readonly path: string
        readonly steps: readonly Step[]
        /** Messages that the protocol requires to be answered at once. */
        readonly pong?: { readonly ping: string; readonly pong: string }
      }
    /** A body in pieces: server-sent events, ndjson, a page that is rendered while it is sent. */
    | {
        readonly kind: 'lines'
        readonly ask: Ask
        /** Matches the lines that count. */
        readonly line: RegExp
        readonly count: number
        /** @default a line feed */
        readonly separator?: string
        /** Minimum length of the longest silence between two such lines, ms. */
        readonly silenceMs: number
      }
    /** One answer that arrives after `waitMs`. */
    | { readonly kind: 'long-poll'; readonly ask: Ask; readonly waitMs: number }
    /** A body that takes `overMs` to send. */
    | { readonly kind: 'upload'; readonly ask: Ask; readonly body: () => Buffer; readonly overMs: number }
    /** A body of at least `bytes` that is read over `overMs`. */
    | { readonly kind: 'download'; readonly ask: Ask; readonly bytes: number; readonly overMs: number }
    /** A program whose output is the answer. It fails with its exit code. */
    | { readonly kind: 'program'; readonly run: readonly string[] }
  )

/** Without meltproof, with it, with it draining on SIGTERM, and the first two with OpenTelemetry and prom-client. */
export type Arm = 'bare' | 'register' | 'register+drain' | 'bare+companions' | 'register+companions'
