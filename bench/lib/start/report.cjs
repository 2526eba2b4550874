/**
 * Preloaded with --require in every arm of bench/start.ts. At its end, the process writes its usage to the file REPORT.
 */
process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  const { maxRSS } = process.resourceUsage()
  // Modules are loaded after the figures were read, because they would raise them. Worker threads run this file too.
  if (!require('node:worker_threads').isMainThread) return
  const { readFileSync, writeFileSync } = require('node:fs')
  const privateKb = Number(/^RssAnon:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))[1])
  const figures = { cpuMs: (user + system) / 1000, rssMb: (maxRSS * 1024) / 1e6, privateMb: (privateKb * 1024) / 1e6 }
  writeFileSync(process.env.REPORT, JSON.stringify(figures))
})
