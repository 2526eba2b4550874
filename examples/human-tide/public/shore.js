/** The live page: listens to the server, shows the sea, replays what was. */
import { Crowd, QUIET_MS } from './crowd.js'
import { Replay } from './replay.js'
import { Sea } from './sea.js'
import { steer } from './steer.js'
import { surroundings, View } from './view.js'

/** However long the time replayed, it takes this long, ms. */
const REPLAY_MS = 60_000
/** More rows than this help nobody. */
const MOST_ROWS = 200
/** Frames are drawn this far apart, ms; with thousands of walkers half as often. */
const FRAME_MS = 33

/** @param {string} id @returns {any} */
const byId = id => document.getElementById(id)
const number = new Intl.NumberFormat()
const still = matchMedia('(prefers-reduced-motion: reduce)')

const view = new View()
const sea = new Sea(byId('sea'), view)
const crowd = new Crowd()
/** @type {{ replay: Replay, step: number, playing: boolean, stop: AbortController } | undefined} */
let past
/** The picture follows the walkers until somebody moves it. */
let following = true
let wasEmpty = true

sea.setShoreline(await fetch('/shoreline.json').then(answer => answer.json()))
const beach = surroundings(sea.shorePoints)
new ResizeObserver(() => {
  sea.resize()
  if (following) fit()
}).observe(byId('sea'))
for (const element of document.querySelectorAll('.join')) element.textContent = location.host
steer(byId('sea'), view, () => {
  following = false
})
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
    byId('rate').textContent = number.format(tick.stored)
    changed()
  })
  source.addEventListener('error', () => {
    if (past === undefined) show(live, 'wait', 'connection lost, coming back')
    byId('rate').textContent = '0'
    // A 503 ends the EventSource for good.
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 3000 + Math.random() * 4000)
  })
}

function changed() {
  if (past !== undefined) return
  const { size } = crowd.walkers
  byId('count').textContent = number.format(size)
  const elsewhere = size - here([...crowd.walkers.values()]).length
  const what = size === 1 ? 'walker' : 'walkers'
  byId('count-what').textContent = elsewhere > 0 ? `${what}, ${number.format(elsewhere)} elsewhere` : what
  byId('empty').hidden = size > 0
  byId('sea').setAttribute(
    'aria-label',
    `Map of the shoreline with ${number.format(size)} ${size === 1 ? 'walker' : 'walkers'}`,
  )
  if (following && (wasEmpty || outside())) fit()
  wasEmpty = size === 0
}

/** Somebody walked off the picture. */
function outside() {
  return here([...crowd.walkers.values()]).some(({ lat, lon }) => {
    const [x, y] = view.toScreen(lat, lon)
    return x < 0 || y < 0 || x > view.width || y > view.height
  })
}

/**
 * Those near the shoreline, or all when none of them is: someone far away must not make everybody else a dot.
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
    sea.draw(placed, now, still.matches ? 0 : time)
  } else {
    advance(past, elapsed)
    const present = past.replay.at(past.step)
    byId('count').textContent = number.format(present.length)
    sea.draw(
      present.map(walker => ({ walker, lat: walker.lat, lon: walker.lon })),
      0,
      still.matches ? 0 : time,
    )
  }
}

/** @param {NonNullable<typeof past>} shown @param {number} elapsed */
function advance(shown, elapsed) {
  const { replay, playing } = shown
  if (playing) {
    const next = shown.step + (elapsed / REPLAY_MS) * replay.steps
    // Not ahead of what is loaded; at the end it stands.
    shown.step = Math.min(next, replay.loadedSteps)
    if (replay.complete && shown.step >= replay.steps) setPlaying(false)
    byId('time').value = String((shown.step / replay.steps) * 1000)
  }
  const when = new Date(replay.from + shown.step * replay.stepMs)
  const long = replay.to - replay.from > 86_400_000 / 2
  const text = when.toLocaleString(
    undefined,
    long ? { dateStyle: 'short', timeStyle: 'short' } : { timeStyle: 'medium' },
  )
  if (byId('when').value !== text) {
    byId('when').value = text
    byId('time').setAttribute('aria-valuetext', text)
  }
}

byId('mode-live').addEventListener('click', () => {
  past?.stop.abort()
  past = undefined
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
  // Nothing to play or to pause yet.
  byId('play').disabled = true
  setMode('mode-replay')
  const stop = new AbortController()
  try {
    const { first, last } = await get('/api/history/span', stop.signal)
    if (last === null) return show(byId('live'), 'replay', 'nothing was walked yet')
    const from = Math.max(first, last - Number(byId('span').value))
    const replay = new Replay(Math.floor(from), Math.ceil(Math.max(last, from + 1000)))
    past = { replay, step: 0, playing: true, stop }
    setPlaying(true)
    byId('play').disabled = false
    byId('empty').hidden = true
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

byId('who').addEventListener('click', () => {
  fillList()
  byId('list').showModal()
})
setInterval(() => {
  if (byId('list').open) fillList()
}, 5000)

/** The picture in words. Names are people's own text: they are set as text, never as markup. */
function fillList() {
  const now = Date.now()
  const walkers = [...crowd.walkers.values()].sort((a, b) => b.seenAt - a.seenAt)
  const rows = walkers.slice(0, MOST_ROWS).map(({ name, seenAt, lat, lon, number: which }) => {
    const row = document.createElement('tr')
    const age = Math.round((now - seenAt) / 1000)
    const ago = now - seenAt < QUIET_MS ? 'now' : age < 120 ? `${age} s ago` : `${Math.round(age / 60)} min ago`
    for (const text of [name || `walker ${which}`, ago, `${lat.toFixed(5)}, ${lon.toFixed(5)}`]) {
      row.insertCell().textContent = text
    }
    return row
  })
  byId('rows').replaceChildren(...rows)
  byId('list-note').textContent =
    walkers.length > MOST_ROWS
      ? `${number.format(walkers.length)} walkers, the latest ${MOST_ROWS} of them listed.`
      : walkers.length === 0
        ? 'Nobody at the moment.'
        : ''
}
