/** One member of the pool sends single bytes, so no silence is long enough for an idle timeout. */
import type { Scenario } from '../experiment/scenario.ts'
import { sickMember } from './sick-member.ts'

const limitMs = 3000
/** Differs enough from a user's patience (4.5 s) and from the gap between two bytes to tell them apart under load. */
const briefLimitMs = 2250

export const drip: Scenario<unknown> = sickMember({
  name: 'drip',
  title: 'A peer that drips bytes',
  story: 'One of ten members of a pool answers a byte every 300 ms: never silent, never done.',
  named: 'read timeout: a peer that drips bytes, seconds apart',
  arms: [
    { name: 'bare', kind: 'bare', what: 'http.get(url): as long as it drips' },
    { name: 'naive timeout', kind: 'also', what: 'http.get(url, { timeout: 3000 }): a limit on silence' },
    { name: 'meltproof', kind: 'protected', what: 'http.get(url); install({ totalMs: 3000 })' },
  ],
  sick: {
    name: 'the dripping member',
    run: 'slow-backend.js',
    core: 'dependency',
    env: { FAULT_EVERY: '1', FAULT_MS: '120000', DRIP_MS: '300' },
  },
  limits: {},
  limitMs,
  briefLimitMs,
  endsMs: limitMs,
  names: /byte|drip|total|3000|3 s/i,
  naiveHelps: false,
})
