/**
 * Imported before an app. Makes it a service, so that meltproof/register takes over its stdout. Does not keep it alive.
 */
require('node:http').createServer().listen({ port: 0, host: '127.0.0.1', exclusive: true }).unref()
