/** One member of the pool has lost its machine: its port drops every packet. */
import type { Scenario } from '../experiment/scenario.ts'
import { sickMember } from './sick-member.ts'

const limitMs = 3000
const connectMs = 1000

export const blackhole: Scenario<unknown> = sickMember({
  name: 'blackhole',
  title: 'A port that drops every packet',
  story: 'One of ten members of a pool swallows every connection: a dead machine, a firewall, a full backlog.',
  named: 'connection timeout: a port that drops every packet',
  arms: [
    { name: 'bare', kind: 'bare', what: 'http.get(url): until the kernel gives up, more than two minutes' },
    { name: 'naive timeout', kind: 'also', what: 'http.get(url, { timeout: 3000 }), destroyed when it fires' },
    { name: 'meltproof', kind: 'protected', what: 'http.get(url); install({ connectMs: 1000, totalMs: 3000 })' },
  ],
  sick: { name: 'the black hole', run: 'blackhole.js', core: 'dependency' },
  limits: { connectMs },
  limitMs,
  endsMs: connectMs,
  names: /connect/i,
  naiveHelps: true,
})
