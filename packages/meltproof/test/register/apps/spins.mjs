/** No server: blocks its event loop, which then turns once more, and says whether worker threads were loaded. */
await new Promise(resolve => setTimeout(resolve, 100))
const until = performance.now() + 500
while (performance.now() < until) Math.random()
await new Promise(resolve => setTimeout(resolve, 100))
const loaded = process.moduleLoadList.includes('NativeModule internal/worker')
console.log(loaded ? 'with worker threads' : 'main thread only')
