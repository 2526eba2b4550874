/** Every scenario there is, in the order `meltlab list` shows them. A new one is added here. */
import { burst } from './burst.ts'
import type { AnyScenario } from './scenario.ts'

export const catalogue: readonly AnyScenario[] = [burst]
