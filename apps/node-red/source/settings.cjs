// Node-RED's settings for a service: no login in the editor, and no requests to the network.
module.exports = {
  uiPort: Number(process.env.PORT),
  uiHost: '127.0.0.1',
  userDir: process.env.DATA,
  flowFile: `${__dirname}/flows.json`,
  credentialSecret: false,
  readOnly: true,
  httpAdminRoot: '/admin',
  httpNodeRoot: '/',
  functionExternalModules: false,
  functionGlobalContext: { crypto: require('node:crypto') },
  logging: { console: { level: 'warn', metrics: false, audit: false } },
  telemetry: { enabled: false, updateNotification: false },
  editorTheme: { tours: false, projects: { enabled: false } },
  externalModules: { autoInstall: false, palette: { allowInstall: false } },
}
