export default {
  preset: 'node-server',
  compatibilityDate: '2026-11-01',
  experimental: { websocket: true },
  routeRules: {
    '/moved': { redirect: '/' },
    '/cached': { swr: 60 },
    '/cors/**': { cors: true, headers: { 'X-Rule': 'yes' } },
  },
  telemetry: false,
}
