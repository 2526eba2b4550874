/** Blocks the event loop for `ms`. */
import { now } from '../src/clock.ts'

export function block(ms: number): void {
  const untilMs = now() + ms
  while (now() < untilMs);
}
