/** Given to --import before an app: makes it a service, which meltproof/register takes over stdout of. Keeps nothing alive. */
require('node:http').createServer().listen({ port: 0, host: '127.0.0.1', exclusive: true }).unref()
