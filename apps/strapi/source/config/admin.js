// Serves only the API, because the admin panel would have to be built first.
module.exports = {
  serveAdminPanel: false,
  autoOpen: false,
  auth: { secret: 'admin secret' },
  apiToken: { salt: 'token salt' },
  transfer: { token: { salt: 'transfer salt' } },
  secrets: { encryptionKey: 'an encryption key of 32 letters.' },
  flags: { nps: false, promoteEE: false },
}
