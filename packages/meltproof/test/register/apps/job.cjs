/** A job without a server. Prints which modules of Node and meltproof its process has loaded. */
require('node:fs').writeSync(1, JSON.stringify(process.moduleLoadList))
