/** The balancers compared. In the last three arms, the members inform the balancer of their capacity. */
import { LeastConnections } from './balancers/least-connections.ts'
import { RoundRobin } from './balancers/round-robin.ts'
import { WeightedByReport } from './balancers/weighted-by-report.ts'
import type { Arm } from './fleet.ts'

/** A careful operator's guess at the concurrency of one member. */
const GUESSED = 16

export const ARMS = {
  bare: { name: 'round robin, no meltproof', protected: false, front: () => ({ balancer: new RoundRobin() }) },
  'round-robin': { name: 'round robin', protected: true, front: () => ({ balancer: new RoundRobin() }) },
  'least-connections': {
    name: 'least connections',
    protected: true,
    front: () => ({ balancer: new LeastConnections() }),
  },
  guessed: {
    name: `least connections, maxconn ${GUESSED}, no meltproof`,
    protected: false,
    front: () => ({ balancer: new LeastConnections(), maxconn: GUESSED }),
  },
  haproxy: {
    name: 'informed: HAProxy',
    protected: true,
    chained: true,
    front: () => ({ balancer: new RoundRobin(), maxconn: 20, asksAgents: true }),
  },
  'haproxy-least': {
    name: 'informed: HAProxy, least connections',
    protected: true,
    chained: true,
    front: () => ({ balancer: new LeastConnections(), maxconn: 20, asksAgents: true }),
  },
  envoy: {
    name: 'informed: Envoy',
    protected: true,
    chained: true,
    front: random => ({ balancer: new WeightedByReport(random) }),
  },
} satisfies Readonly<Record<string, Arm>>

export type ArmName = keyof typeof ARMS
