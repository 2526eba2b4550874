// Before the service starts, grants public permissions, creates 200 articles and a file that takes 20 s to download.
const { writeFileSync } = require('node:fs')

const ACTIONS = [
  ...['find', 'findOne', 'create', 'update', 'delete'].map(action => `api::article.article.${action}`),
  'plugin::upload.content-api.upload',
]
const ARTICLES = 200

module.exports = {
  register() {
    writeFileSync(`${process.env.DATA}/public/uploads/large.bin`, Buffer.alloc(32 << 20, 'strapi '))
  },
  async bootstrap({ strapi }) {
    const role = await strapi.db.query('plugin::users-permissions.role').findOne({ where: { type: 'public' } })
    for (const action of ACTIONS) {
      await strapi.db.query('plugin::users-permissions.permission').create({ data: { action, role: role.id } })
    }
    for (let rank = 1; rank <= ARTICLES; rank++) {
      const data = { title: `Article ${rank}`, body: 'text '.repeat(50), rank }
      await strapi.documents('api::article.article').create({ data })
    }
  },
}
