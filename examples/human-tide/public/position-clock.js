/** Reports the phone's position once a second: the newest fix of the Geolocation API, while it is fresh. */

const EVERY_MS = 1000
/** A phone that stands still may get no new fix. Older fixes than this are not reported, ms. */
const FRESH_MS = 30_000

/**
 * @typedef {{ is: 'good' | 'wait' | 'bad', how: string }} Gps
 * @param {object} parts
 * @param {(fix: import('./outbox.js').Fix) => void} parts.onFix
 * @param {(gps: Gps) => void} parts.onState
 * @returns {() => void} stops the clock
 */
export function startPositionClock({ onFix, onState }) {
  /** @type {{ coords: GeolocationCoordinates, at: number } | undefined} */
  let last
  const watch = navigator.geolocation.watchPosition(
    ({ coords }) => {
      // The phone's clock is used, because some browsers count a fix's own timestamp from another epoch.
      last = { coords, at: Date.now() }
    },
    error => {
      if (error.code === error.PERMISSION_DENIED) {
        onState({ is: 'bad', how: 'not allowed: permit this page to use your location, then start again' })
      }
    },
    { enableHighAccuracy: true, maximumAge: 0, timeout: 20_000 },
  )
  const timer = setInterval(() => {
    if (last === undefined) return
    const now = Date.now()
    if (now - last.at > FRESH_MS) return onState({ is: 'wait', how: 'lost; looking for you' })
    const { latitude: lat, longitude: lon, accuracy } = last.coords
    onFix({ at: now, lat, lon, accuracy })
    onState({
      is: 'good',
      how: `within ${accuracy < 1000 ? `${Math.max(1, Math.round(accuracy))} m` : `${Math.round(accuracy / 1000)} km`}`,
    })
  }, EVERY_MS)
  return () => {
    clearInterval(timer)
    navigator.geolocation.clearWatch(watch)
  }
}
