/** Keeps the event loop from turning. */
import { now } from '../src/clock.ts'

export function block(ms: number): void {
  const untilMs = now() + ms
  while (now() < untilMs);
}
