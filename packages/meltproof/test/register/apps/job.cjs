/** No server: says what its process has loaded, of Node and of meltproof. */
require('node:fs').writeSync(1, JSON.stringify(process.moduleLoadList))
