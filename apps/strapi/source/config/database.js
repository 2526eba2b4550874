module.exports = {
  connection: {
    client: 'sqlite',
    connection: { filename: `${process.env.DATA}/strapi.db` },
    useNullAsDefault: true,
  },
}
