/** Lets the phone's page open without a signal: from the network if possible, otherwise from the cache. */
const CACHE = 'human-tide-1'
const SHELL = [
  '/',
  '/walk.css',
  '/walk.js',
  '/outbox.js',
  '/phone-key.js',
  '/sender.js',
  '/position-clock.js',
  '/walker-name.js',
  '/watch.js',
  '/icon.svg',
]

self.addEventListener('install', (/** @type {any} */ event) => {
  event.waitUntil(caches.open(CACHE).then(cache => cache.addAll(SHELL)))
})

self.addEventListener('fetch', (/** @type {any} */ event) => {
  const { request } = event
  const { pathname, origin } = new URL(request.url)
  if (request.method !== 'GET' || origin !== location.origin || !SHELL.includes(pathname)) return
  event.respondWith(fromNetwork(request).catch(() => caches.match(pathname)))
})

/** @param {Request} request */
async function fromNetwork(request) {
  const response = await fetch(request)
  if (response.ok) {
    const cache = await caches.open(CACHE)
    await cache.put(new URL(request.url).pathname, response.clone())
  }
  return response
}
