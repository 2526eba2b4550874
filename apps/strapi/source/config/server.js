// Strapi needs its uploads folder before it runs any other code of the app.
require('node:fs').mkdirSync(`${process.env.DATA}/public/uploads`, { recursive: true })

module.exports = {
  host: '127.0.0.1',
  port: Number(process.env.PORT),
  app: { keys: ['key one', 'key two'] },
  dirs: { public: `${process.env.DATA}/public` },
  logger: { startup: { enabled: false }, updates: { enabled: false } },
}
