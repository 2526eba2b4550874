/**
 * What a fuzz client says on one connection: bytes, where they are cut into writes, and how it ends. Pure: the same
 * random numbers give the same conversation.
 *
 * Two families. *Strict* ones are valid HTTP/1.1 whose every answer can be foretold up to "served or shed", so each
 * answer is checked. The others are anything at all: then only the server's health counts.
 */
import type { Random } from '../sim/random.ts'

export interface Conversation {
  readonly kind: string
  /** Latin-1. */
  readonly bytes: string
  /** Request heads in it, valid or not; at least 1. */
  readonly requests: number
  /** The methods of a strict conversation, in order; its answers carry the ids 0, 1, 2... */
  readonly strict?: readonly string[]
  /** Offsets at which a write ends; the next one follows a turn of the loop later. */
  readonly cuts: readonly number[]
  readonly ending: Ending
}

export type Ending =
  /** Reads whatever comes, and leaves when all is answered or nothing comes any more. */
  | { readonly how: 'read' }
  /** Says FIN after its bytes and goes on reading. */
  | { readonly how: 'half-close' }
  /** Resets the connection once this many bytes are written, without reading. */
  | { readonly how: 'reset'; readonly after: number }
  /** Never reads, then resets. */
  | { readonly how: 'deaf' }

/** What the app does with a request; it stands in the path. */
const BEHAVIOURS = ['fast', 'fast', 'fast', 'wait', 'wait', 'burn', 'echo', 'stream', 'big', 'late-read'] as const
const NEWLINE = '\r\n'
/** Bodies look like requests, so that a door that loses its place in them is found out. */
const BAIT = 'GET /smuggled HTTP/1.1\r\nHost: fuzz\r\n\r\n'

/** From 0 to below `below`. */
const upTo = (random: Random, below: number): number => Math.floor(random.next() * below)
const pick = <T>(random: Random, from: readonly T[]): T => from[upTo(random, from.length)]!
const chance = (random: Random, share: number): boolean => random.next() < share

function head(method: string, target: string, ...lines: readonly string[]): string {
  return [`${method} ${target} HTTP/1.1`, 'Host: fuzz', ...lines, '', ''].join(NEWLINE)
}

function chunked(random: Random, body: string): string {
  let text = ''
  for (let at = 0; at < body.length; ) {
    const size = 1 + upTo(random, 50)
    const piece = body.slice(at, at + size)
    const extension = chance(random, 0.1) ? ';fuzz="a b"' : ''
    text += `${piece.length.toString(16)}${extension}${NEWLINE}${piece}${NEWLINE}`
    at += size
  }
  const trailer = chance(random, 0.2) ? `X-Sum: /smuggled${NEWLINE}` : ''
  return `${text}0${NEWLINE}${trailer}${NEWLINE}`
}

interface Asked {
  readonly method: string
  readonly bytes: string
}

/** A valid request; the app is to answer it with `id`. */
function valid(random: Random, id: number): Asked {
  const behaviour = pick(random, BEHAVIOURS)
  const target = `/${behaviour}/${id}`
  const lines = chance(random, 0.2) ? ['Accept: text/html'] : []
  if (behaviour === 'echo' || behaviour === 'late-read' || chance(random, 0.15)) {
    const body = BAIT.repeat(1 + upTo(random, chance(random, 0.05) ? 2_000 : 4))
    const method = pick(random, ['POST', 'PUT', 'PATCH'])
    if (chance(random, 0.5)) {
      return {
        method,
        bytes: head(method, target, 'Transfer-Encoding: chunked', ...lines) + chunked(random, body),
      }
    }
    return { method, bytes: head(method, target, `Content-Length: ${body.length}`, ...lines) + body }
  }
  const method = chance(random, 0.1) ? 'HEAD' : chance(random, 0.05) ? 'DELETE' : 'GET'
  return { method, bytes: head(method, target, ...lines) }
}

function validOnes(random: Random, count: number): { methods: string[]; bytes: string } {
  const asked = Array.from({ length: count }, (_, id) => valid(random, id))
  return { methods: asked.map(({ method }) => method), bytes: asked.map(({ bytes }) => bytes).join('') }
}

function cutsOf(random: Random, length: number): number[] {
  if (chance(random, 0.5)) return []
  const most = chance(random, 0.2) ? 12 : 3
  return Array.from({ length: upTo(random, most) }, () => upTo(random, length)).sort((a, b) => a - b)
}

function anyEnding(random: Random, length: number): Ending {
  const luck = random.next()
  if (luck < 0.35) return { how: 'reset', after: upTo(random, length + 1) }
  if (luck < 0.55) return { how: 'half-close' }
  if (luck < 0.65) return { how: 'deaf' }
  return { how: 'read' }
}

function broken(random: Random, kind: string, asMade: string, requests: number): Conversation {
  // Where framing is broken, what stood in a body may rightly be read as a request.
  const bytes = asMade.replaceAll('/smuggled', '/loosened')
  return {
    kind,
    bytes,
    requests: Math.max(1, requests),
    cuts: cutsOf(random, bytes.length),
    ending: anyEnding(random, bytes.length),
  }
}

function randomBytes(random: Random, length: number): string {
  let text = ''
  while (text.length < length) text += String.fromCharCode(upTo(random, 256))
  return text
}

/** Changes a few places of valid bytes: flips, losses, repetitions, insertions. */
function mutated(random: Random, bytes: string): string {
  let text = bytes
  for (let times = 1 + upTo(random, 6); times > 0; times--) {
    const at = upTo(random, text.length + 1)
    const length = 1 + upTo(random, chance(random, 0.2) ? 400 : 8)
    const [before, after] = [text.slice(0, at), text.slice(at)]
    switch (upTo(random, 5)) {
      case 0:
        text = before + String.fromCharCode(upTo(random, 256)) + after.slice(1)
        break
      case 1:
        text = before + after.slice(length)
        break
      case 2:
        text = before + after.slice(0, length) + after
        break
      case 3:
        text = before + randomBytes(random, length) + after
        break
      default:
        text = before + pick(random, TOKENS) + after
    }
  }
  return text
}

/** Pieces that parsers stumble over. */
const TOKENS = [
  '\r\n',
  '\n',
  '\r',
  '\r\n\r\n',
  '\0',
  ' ',
  '\t',
  ':',
  ' HTTP/1.1\r\n',
  ' HTTP/1.0\r\n',
  ' HTTP/9.9\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: identity, chunked\r\n',
  'Content-Length: 5\r\n',
  'Content-Length: -1\r\n',
  'Content-Length: 99999999999999999999\r\n',
  'Connection: close\r\n',
  'Connection: upgrade\r\nUpgrade: websocket\r\n',
  'Connection: keep-alive, Upgrade\r\nUpgrade: h2c\r\n',
  'Expect: 100-continue\r\n',
  'Trailer: X\r\n',
  '0\r\n\r\n',
  'ffffffffffffffff\r\n',
  'GET / HTTP/1.1\r\nHost: fuzz\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
]

const KINDS: Readonly<Record<string, { weight: number; make: (random: Random, kind: string) => Conversation }>> = {
  /** One after the other, or a few at once: what honest clients do. */
  honest: {
    weight: 20,
    make: (random, kind) => {
      const count = 1 + upTo(random, 12)
      const { methods, bytes } = validOnes(random, count)
      return {
        kind,
        bytes,
        requests: count,
        strict: methods,
        cuts: cutsOf(random, bytes.length),
        ending: chance(random, 0.2) ? { how: 'half-close' } : { how: 'read' },
      }
    },
  },
  /** Hundreds of requests in one write. */
  flood: {
    weight: 10,
    make: (random, kind) => {
      const count = 20 + upTo(random, chance(random, 0.1) ? 600 : 120)
      const bytes = Array.from({ length: count }, (_, id) => head('GET', `/fast/${id}`)).join('')
      const methods = Array.from({ length: count }, () => 'GET')
      return chance(random, 0.7)
        ? { kind, bytes, requests: count, strict: methods, cuts: cutsOf(random, bytes.length), ending: { how: 'read' } }
        : broken(random, kind, bytes, count)
    },
  },
  /** Valid requests, left at any byte. */
  abort: {
    weight: 16,
    make: (random, kind) => {
      const count = 1 + upTo(random, 8)
      const { bytes } = validOnes(random, count)
      const whole: Conversation = broken(random, kind, bytes, count)
      const ending: Ending = chance(random, 0.8)
        ? { how: 'reset', after: upTo(random, bytes.length + 1) }
        : whole.ending
      return { ...whole, ending }
    },
  },
  /** FIN inside a head or a body, or behind a whole request. */
  truncated: {
    weight: 8,
    make: (random, kind) => {
      const count = 1 + upTo(random, 4)
      const { bytes } = validOnes(random, count)
      const kept = bytes.slice(0, 1 + upTo(random, bytes.length))
      return { kind, bytes: kept, requests: count, cuts: cutsOf(random, kept.length), ending: { how: 'half-close' } }
    },
  },
  mutated: {
    weight: 20,
    make: (random, kind) => {
      const count = 1 + upTo(random, 6)
      return broken(random, kind, mutated(random, validOnes(random, count).bytes), count)
    },
  },
  /** Too many header lines, or too long ones. */
  'header-bomb': {
    weight: 4,
    make: (random, kind) => {
      const line = (i: number): string => `X-${i}: ${'a'.repeat(upTo(random, 40))}`
      const lines = chance(random, 0.5)
        ? Array.from({ length: upTo(random, 3_000) }, (_, i) => line(i))
        : [`X-Long: ${'b'.repeat(upTo(random, 40_000))}`]
      const bytes = head('GET', chance(random, 0.2) ? `/${'c'.repeat(20_000)}` : '/fast/0', ...lines)
      return broken(random, kind, bytes + head('GET', '/fast/1'), 2)
    },
  },
  /** Chunk sizes that are no sizes, chunks longer or shorter than they say, trailers without end. */
  'chunk-garbage': {
    weight: 8,
    make: (random, kind) => {
      const body = chunked(random, BAIT)
      const garbage = chance(random, 0.5)
        ? mutated(random, body)
        : pick(random, [
            'zz\r\n',
            '-5\r\nabcde\r\n',
            '5\r\nabc',
            '5;',
            '1'.repeat(40),
            `5\r\nabcdefgh\r\n`,
            '0\r\nX: ',
          ]) + body
      return broken(random, kind, head('POST', '/echo/0', 'Transfer-Encoding: chunked') + garbage, 1)
    },
  },
  expect: {
    weight: 6,
    make: (random, kind) => {
      const value = chance(random, 0.8) ? '100-continue' : 'the-unexpected'
      const body = BAIT.slice(0, 1 + upTo(random, BAIT.length))
      const first = head('POST', '/echo/0', `Expect: ${value}`, `Content-Length: ${BAIT.length}`)
      return broken(random, kind, first + (chance(random, 0.6) ? body : ''), 1)
    },
  },
  upgrade: {
    weight: 6,
    make: (random, kind) => {
      const before = upTo(random, 3)
      const { bytes } = validOnes(random, before)
      const protocol = pick(random, ['websocket', 'nothing', 'h2c', 'websocket, nothing'])
      const asks = chance(random, 0.85)
        ? head('GET', '/upgrade', 'Connection: Upgrade', `Upgrade: ${protocol}`, 'Sec-WebSocket-Key: Zm9v')
        : 'CONNECT fuzz:443 HTTP/1.1\r\nHost: fuzz\r\n\r\n'
      return broken(random, kind, bytes + asks + (chance(random, 0.5) ? randomBytes(random, 200) : ''), before + 1)
    },
  },
  /** Two lengths, or a length and chunks: the shapes of request smuggling. */
  smuggling: {
    weight: 6,
    make: (random, kind) => {
      const lines = pick(random, [
        [`Content-Length: ${BAIT.length}`, 'Transfer-Encoding: chunked'],
        ['Transfer-Encoding: chunked', 'Content-Length: 3'],
        ['Content-Length: 3', 'Content-Length: 30'],
        ['Transfer-Encoding: xchunked'],
        ['Transfer-Encoding : chunked'],
        ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'],
        ['Content-Length: 3, 3'],
        ['Content-Length: 0x10'],
      ])
      return broken(random, kind, head('POST', '/echo/0', ...lines) + chunked(random, BAIT) + BAIT, 2)
    },
  },
  'http-1.0': {
    weight: 3,
    make: (random, kind) => {
      const keep = chance(random, 0.5) ? 'Connection: keep-alive\r\n' : ''
      const bytes = `GET /fast/0 HTTP/1.0\r\n${keep}\r\n`.repeat(1 + upTo(random, 4))
      return broken(random, kind, bytes, 1)
    },
  },
  /** Ends the response of a handler that works on (test/server/ways-out.ts). */
  'way-out': {
    weight: 6,
    make: (random, kind) => {
      const behaviour = pick(random, ['wait', 'head-first', 'flow', 'give-up'])
      const asks = pick(random, [
        head('GET', `/${behaviour}/0`),
        `${head('POST', `/${behaviour}/0`, 'Content-Length: 20')}1`,
        `${head('POST', `/${behaviour}/0`, 'Transfer-Encoding: chunked')}1\r\n1\r\n`,
      ])
      const then = pick(random, [
        '',
        'this is no request\r\n\r\n',
        'zz\r\n',
        'CONNECT fuzz:443 HTTP/1.1\r\nHost: fuzz\r\n\r\n',
        head('GET', '/upgrade', 'Connection: Upgrade', 'Upgrade: other'),
        'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
        'GET /half HTTP/1.1\r\nHo',
      ])
      return broken(random, kind, asks + then, 2)
    },
  },
  noise: {
    weight: 4,
    make: (random, kind) => broken(random, kind, randomBytes(random, 1 + upTo(random, 3_000)), 1),
  },
}

const TOTAL_WEIGHT = Object.values(KINDS).reduce((sum, { weight }) => sum + weight, 0)

export function makeConversation(random: Random): Conversation {
  let left = random.next() * TOTAL_WEIGHT
  for (const [kind, { weight, make }] of Object.entries(KINDS)) {
    left -= weight
    if (left < 0) return make(random, kind)
  }
  return KINDS['honest']!.make(random, 'honest')
}
