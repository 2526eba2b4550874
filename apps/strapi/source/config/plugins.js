module.exports = { 'users-permissions': { config: { jwtSecret: 'jwt secret' } } }
