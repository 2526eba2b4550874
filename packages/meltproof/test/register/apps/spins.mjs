/** A job without a server. Blocks its event loop, turns once more, and prints whether worker threads were loaded. */
await new Promise(resolve => setTimeout(resolve, 100))
const until = performance.now() + 500
while (performance.now() < until) Math.random()
await new Promise(resolve => setTimeout(resolve, 100))
const loaded = process.moduleLoadList.includes('NativeModule internal/worker')
console.log(loaded ? 'with worker threads' : 'main thread only')
