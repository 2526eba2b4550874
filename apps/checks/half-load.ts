/** No request is shed at half of the capacity of the app. */
import type { Check } from './check.ts'
import { failedOf, otherOf } from './fates.ts'

const SHARE = 0.5
const DURATION_MS = 5000

export const halfLoad: Check = async subject => {
  const { rate: capacity } = await subject.capacity()
  const load = await subject.underLoad('register', make => make.offer(capacity * SHARE, DURATION_MS))
  const failures = [
    ...(load.shed > 0 ? [`${load.shed} of ${load.scheduled} requests were shed`] : []),
    ...failedOf(load),
    ...otherOf(load),
  ]
  return {
    ok: failures.length === 0,
    summary: failures.length === 0 ? `none of ${load.scheduled}` : `${load.shed} of ${load.scheduled} shed`,
    failures,
    notes: load.doubts,
    figures: { capacity, ...load },
  }
}
