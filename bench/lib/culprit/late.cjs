/** A module that holds the loop while it loads. */
function used() {}
const untilMs = performance.now() + globalThis.plantedMs
let sum = 0
while (performance.now() < untilMs) sum += 1 // planted: lateModule
used(sum)
module.exports = sum
