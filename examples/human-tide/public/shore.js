/** The live page: receives updates from the server, draws the sea, and replays past walks. */
import { Crowd, nameOf } from './crowd.js'
import { showJoin, startJoin } from './join.js'
import { startList } from './list.js'
import { plural } from './plural.js'
import { Replay } from './replay.js'
import { Sea } from './sea.js'
import { steer } from './steer.js'
import { surroundings, View } from './view.js'

/** Duration of a replay, whatever time it covers, ms. */
const REPLAY_MS = 60_000
/** Minimum interval between frames, ms. It is doubled with more than 1000 walkers. */
const FRAME_MS = 33

/** Width of the window below which the page is narrow, as in shore.css, pixels. */
const NARROW = 544
/** A replay of more than half a day also shows the weekday, ms. No replay is longer than a week. */
const LONG_MS = 43_200_000

/** @param {string} id @returns {any} */
const byId = id => document.getElementById(id)
const number = new Intl.NumberFormat()
const still = matchMedia('(prefers-reduced-motion: reduce)')

const view = new View()
const sea = new Sea(byId('sea'), view)
const crowd = new Crowd()
/** @type {{ replay: Replay, step: number, playing: boolean, stop: AbortController } | undefined} */
let past
/** The view follows the walkers until the visitor moves it. */
let following = true
/** The number of the walker that the visitor chose. @type {number | undefined} */
let chosen
let wasEmpty = true

sea.setShoreline(await fetch('/shoreline.json').then(answer => answer.json()))
const beach = surroundings(sea.shorePoints)
new ResizeObserver(() => {
  sea.resize()
  if (following) fit()
}).observe(byId('sea'))
steer(byId('sea'), view, () => {
  following = false
})
byId('sea').addEventListener('pointermove', (/** @type {PointerEvent} */ event) => {
  if (event.pointerType === 'mouse') choose(sea.walkerAt(event.offsetX, event.offsetY))
})
byId('sea').addEventListener('click', (/** @type {PointerEvent} */ event) => {
  choose(sea.walkerAt(event.offsetX, event.offsetY))
})
startList(crowd, walker => {
  following = false
  view.center(walker)
  choose(walker)
})
void startJoin().then(changed, () => {})
byId('in').addEventListener('click', () => zoom(1.5))
byId('out').addEventListener('click', () => zoom(1 / 1.5))
byId('fit').addEventListener('click', showEveryone)
byId('sea').addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
  if (event.key === '0') showEveryone()
})
listen()
requestAnimationFrame(frame)

function listen() {
  const source = new EventSource('/api/live')
  const live = byId('live')
  source.addEventListener('snapshot', ({ data }) => {
    crowd.replace(JSON.parse(data), Date.now())
    if (past === undefined) show(live, 'good', 'live')
    changed()
  })
  source.addEventListener('tick', ({ data }) => {
    const tick = JSON.parse(data)
    crowd.update(tick, Date.now())
    showRate(tick.stored)
    changed()
  })
  source.addEventListener('error', () => {
    if (past === undefined) show(live, 'wait', 'connection lost, coming back')
    showRate(0)
    // After a 503 an EventSource does not reconnect by itself.
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 3000 + Math.random() * 4000)
  })
}

/** Names a walker on the map and for screen readers. @param {import('./crowd.js').Walker | undefined} walker */
function choose(walker) {
  if (chosen === walker?.number) return
  chosen = walker?.number
  byId('named').hidden = walker === undefined
  byId('named').textContent = walker === undefined ? '' : nameOf(walker)
}

function changed() {
  if (past !== undefined) return
  const walking = crowd.walking(Date.now())
  if (chosen !== undefined && !crowd.walkers.has(chosen)) choose(undefined)
  const silent = crowd.walkers.size - walking.length
  showCount(walking.length, { silent, elsewhere: walking.length - here(walking).length })
  showJoin(walking, true)
  byId('sea').setAttribute(
    'aria-label',
    `Map of the shoreline with ${number.format(walking.length)} ${plural(walking.length, 'walker')}`,
  )
  if (following && (wasEmpty || outside())) fit()
  wasEmpty = crowd.walkers.size === 0
}

/** @param {number} count @param {Readonly<Record<string, number>>} [others] such as `{ silent: 3 }` */
function showCount(count, others = {}) {
  byId('count').textContent = number.format(count)
  const more = Object.entries(others).filter(([, many]) => many > 0)
  const words = more.map(([what, many]) => `, ${number.format(many)} ${what}`)
  byId('count-what').textContent = plural(count, 'walker') + words.join('')
}

/** @param {number} stored */
function showRate(stored) {
  // The word is set before the number, so that a reader of the new number finds the word that fits.
  byId('rate-what').textContent = `${plural(stored, 'position')} a second`
  byId('rate').textContent = number.format(stored)
}

/** Whether a walker has left the picture. */
function outside() {
  return here(crowd.walking(Date.now())).some(({ lat, lon }) => {
    const [x, y] = view.toScreen(lat, lon)
    return x < 0 || y < 0 || x > view.width || y > view.height
  })
}

/**
 * Returns the places near the shoreline, or all if none is near: one far place must not shrink all others to a dot.
 * @template {{ lat: number, lon: number }} T @param {readonly T[]} places
 */
function here(places) {
  const near = places.filter(place => beach.holds(place))
  return near.length > 0 ? near : places
}

function fit() {
  const places = past === undefined ? [...crowd.walkers.values()] : [...past.replay.places()]
  view.fit(places.length > 0 ? here(places) : beach.middle)
}

function showEveryone() {
  following = true
  fit()
}

/** @param {number} factor */
function zoom(factor) {
  following = false
  view.zoom(factor)
}

/** Distance of the scale from the bottom: above a button on a wide screen, above the whole footer on a narrow one. */
const barAt = () => (innerWidth < NARROW ? byId('bottom').offsetHeight + 32 : 84)

let lastFrame = 0
/** @param {number} time */
function frame(time) {
  requestAnimationFrame(frame)
  const elapsed = time - lastFrame
  const slower = crowd.walkers.size > 1000 ? 2 : 1
  if (elapsed < FRAME_MS * slower) return
  lastFrame = time
  if (past === undefined) {
    const now = Date.now()
    const placed = [...crowd.walkers.values()].map(walker => {
      const [lat, lon] = crowd.at(walker, now)
      return { walker, lat, lon }
    })
    sea.draw(placed, { now, wave: still.matches ? 0 : time, chosen, bar: barAt() })
  } else {
    advance(past, elapsed)
    const present = past.replay.at(past.step)
    showCount(present.length)
    sea.draw(
      present.map(walker => ({ walker, lat: walker.lat, lon: walker.lon })),
      { now: 0, wave: still.matches ? 0 : time, chosen, bar: barAt() },
    )
  }
}

/** @param {NonNullable<typeof past>} shown @param {number} elapsed */
function advance(shown, elapsed) {
  const { replay, playing } = shown
  if (playing) {
    const next = shown.step + (elapsed / REPLAY_MS) * replay.steps
    // The replay does not run ahead of the loaded steps, and stops at the end.
    shown.step = Math.min(next, replay.loadedSteps)
    if (replay.complete && shown.step >= replay.steps) setPlaying(false)
    byId('time').value = String((shown.step / replay.steps) * 1000)
  }
  const when = new Date(replay.from + shown.step * replay.stepMs)
  const long = replay.to - replay.from > LONG_MS
  const text = when.toLocaleString(
    undefined,
    long ? { weekday: 'short', hour: 'numeric', minute: '2-digit' } : { timeStyle: 'medium' },
  )
  if (byId('when').value !== text) {
    byId('when').value = text
    byId('time').setAttribute('aria-valuetext', text)
  }
}

byId('mode-live').addEventListener('click', () => {
  past?.stop.abort()
  past = undefined
  choose(undefined)
  setMode('mode-live')
  show(byId('live'), 'good', 'live')
  changed()
  showEveryone()
})
byId('mode-replay').addEventListener('click', () => void startReplay())
byId('span').addEventListener('change', () => void startReplay())
byId('play').addEventListener('click', () => {
  if (past === undefined) return
  if (past.step >= past.replay.steps) past.step = 0
  setPlaying(!past.playing)
})
byId('time').addEventListener('input', () => {
  if (past === undefined) return
  past.step = Math.min((Number(byId('time').value) / 1000) * past.replay.steps, past.replay.loadedSteps)
})

async function startReplay() {
  past?.stop.abort()
  // There is nothing to play or pause yet.
  byId('play').disabled = true
  setMode('mode-replay')
  const stop = new AbortController()
  try {
    const { first, last } = await get('/api/history/span', stop.signal)
    if (last === null) return show(byId('live'), 'replay', 'nothing was walked yet')
    const from = Math.max(first, last - Number(byId('span').value))
    const replay = new Replay(Math.floor(from), Math.ceil(Math.max(last, from + 1000)))
    past = { replay, step: 0, playing: true, stop }
    choose(undefined)
    setPlaying(true)
    byId('play').disabled = false
    showJoin([], false)
    show(byId('live'), 'replay', 'replay')
    const loading = replay.load(query => get(`/api/history?${query}`, stop.signal), stop.signal)
    await loading
    if (past?.replay !== replay) return
    showEveryone()
    if (replay.problem) show(byId('live'), 'replay', replay.problem)
  } catch (error) {
    if (!stop.signal.aborted)
      show(byId('live'), 'wait', `no replay now: ${error instanceof Error ? error.message : error}`)
  }
}

/** @param {string} url @param {AbortSignal} signal */
async function get(url, signal) {
  const answer = await fetch(url, { signal })
  const body = await answer.json()
  if (!answer.ok) throw new Error(body.title)
  return body
}

/** @param {string} id */
function setMode(id) {
  for (const each of ['mode-live', 'mode-replay']) byId(each).setAttribute('aria-pressed', String(each === id))
  byId('replay').hidden = id === 'mode-live'
  byId('rate').hidden = byId('rate-what').hidden = id !== 'mode-live'
}

/** @param {boolean} playing */
function setPlaying(playing) {
  if (past !== undefined) past.playing = playing
  byId('play').dataset.is = playing ? 'playing' : 'paused'
  byId('play').setAttribute('aria-label', playing ? 'Pause' : 'Play')
}

/** @param {HTMLElement} element @param {string} is @param {string} text */
function show(element, is, text) {
  element.dataset.is = is
  if (element.textContent !== text) element.textContent = text
}
