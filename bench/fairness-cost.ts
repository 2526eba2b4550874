/**
 * What fairness costs each request, ns: `node bench/fairness-cost.ts`. A shed while somebody waits asks for the kind of
 * its path and counts it, and the client where clients are told apart; a request that is served is counted as answered.
 */
import { ClientShares } from '../packages/meltproof/src/admission/fairness/client-shares.ts'
import { FairShares } from '../packages/meltproof/src/admission/fairness/fair-shares.ts'
import { KINDS, KnownKinds } from '../packages/meltproof/src/admission/fairness/known-kinds.ts'
import { clientsBy } from '../packages/meltproof/src/server/request/client-key.ts'

const MANY = 400_000
const known = Array.from({ length: 8 }, (_, i) => `/api/v1/${'abcdefgh'[i]}orders?page=${i}`)
const unknown = Array.from({ length: 4096 }, () => `/${Math.random().toString(36).replace(/\d/g, 'x').slice(2)}`)
const addresses = Array.from({ length: 256 }, (_, i) => `10.0.${i & 15}.${i}`)

const kinds = new KnownKinds()
const shares = new FairShares(KINDS)
const clients = new ClientShares()
const { ofHead } = clientsBy('address', () => {})
let nowMs = 0
for (; nowMs < 20_000; nowMs += 100) for (const url of known) kinds.answered(kinds.of(url), url, nowMs, false)

const shed = (url: string): void => {
  nowMs += 0.05
  const kind = kinds.of(url)
  shares.within(kind, nowMs)
  kinds.came(kind, nowMs)
  shares.arrived(kind, nowMs, 10)
}
const served = (url: string): void => {
  nowMs += 0.05
  kinds.answered(kinds.of(url), url, nowMs, false)
}
const client = (address: string): void => {
  nowMs += 0.05
  const who = ofHead!(address, [])
  clients.within(who, nowMs)
  clients.arrived(who, nowMs, 10)
}

const WORK: Readonly<Record<string, readonly [(text: string) => void, readonly string[]]>> = {
  'a shed of a known path': [shed, known],
  'a shed of a random path': [shed, unknown],
  'an answer of a known path': [served, known],
  'an answer of a random path': [served, unknown],
  'a shed where clients are told apart, besides': [client, addresses],
}

for (const [name, [work, texts]] of Object.entries(WORK)) {
  const ns = Array.from({ length: 7 }, () => {
    const from = performance.now()
    for (let i = 0; i < MANY; i++) work(texts[i % texts.length]!)
    return ((performance.now() - from) * 1e6) / MANY
  })
  console.log(`${name}: ${ns.sort((a, b) => a - b)[3]!.toFixed(0)} ns`)
}
