/** The work of one request of the burst experiment: 5 ms of CPU in five slices of 1 ms, each an asynchronous call. */
import { spin, spinPerMs } from './busy.js'

const perSlice = spinPerMs()

export async function burn() {
  for (let slice = 0; slice < 5; slice++) {
    await new Promise(resolve => setImmediate(resolve))
    spin(perSlice)
  }
}
