/**
 * The storm's page. Sends the visitor's settings, and draws the state that the server sends twice a second; more often
 * would disturb the load.
 */
import { Beach } from './phone.js'
import { Chart } from './chart.js'
import { CrowdMap } from './crowd-map.js'

/** Number of phones at each stop of the slider. */
const STEPS = [0, 10, 25, 50, 100, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 4000, 5000]
/** The state of a side in words, for visitors who cannot tell the colours apart. */
const STATES = {
  calm: 'calm',
  carries: 'carries all',
  sheds: 'full, and in time',
  strains: 'falling behind',
  melts: 'melting',
  down: 'restarting',
}
const SCENES = {
  line: { phones: 100, left: { protect: false, log: true }, right: { protect: false, log: false } },
  guarded: { phones: 300, left: { protect: false, log: true }, right: { protect: true, log: true } },
}

/**
 * @typedef {{ protect: boolean, log: boolean }} SideSettings
 * @typedef {object} Figures
 * @property {string} name
 * @property {boolean} [isUp]
 * @property {number} [duePerS]
 * @property {number} [storedPerS]
 * @property {number} [inTimePerS]
 * @property {number} [shedPerS]
 * @property {number} [lostPerS]
 * @property {number} [p99Ms]
 * @property {keyof typeof STATES} [state]
 * @property {string} ages
 * @typedef {{ revision: number, phones: number, left: SideSettings, right: SideSettings, machine: string, linesPerS: number, sides: Figures[] }} Told
 */

/** @param {string} id @returns {any} */
const byId = id => document.getElementById(id)
const number = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 })

const shoreline = await fetch('/shoreline.json').then(answer => answer.json())
const beach = new Beach(shoreline, shoreline.properties.bay)
const sides = new Map(['left', 'right'].map(name => [name, makeSide(name)]))
/** Changes that the server has not answered yet. */
let unanswered = 0
/** The server's revision number after this page's last change. */
let revision = 0

const isFramed = window !== window.top
document.documentElement.classList.toggle('framed', isFramed)
byId('phones').max = String(STEPS.length - 1)
byId('phones').addEventListener('input', () => {
  const phones = STEPS[Number(byId('phones').value)] ?? 0
  showPhones(phones)
  void set({ phones })
})
for (const [id, settings] of Object.entries(SCENES)) {
  byId(id).addEventListener('click', () => void set(settings))
}
const source = new EventSource('events')
// A restarted server counts revisions from 0.
source.addEventListener('open', () => {
  revision = 0
})
source.addEventListener('message', ({ data }) => {
  if (!document.hidden) show(JSON.parse(data))
})
source.addEventListener('error', () =>
  setText(byId('live'), `the storm has ended: ${isFramed ? 'reload this page' : 'start it again in the terminal'}`),
)

/** @param {string} name */
function makeSide(name) {
  const section = byId(name)
  section.append(byId('shore').content.cloneNode(true))
  /** @param {string} selector @returns {any} */
  const part = selector => section.querySelector(selector)
  part('h2').id = `${name}-title`
  for (const which of ['protect', 'log']) {
    part(`.${which}`).addEventListener('change', (/** @type {any} */ { target }) => {
      void set({ [name]: { [which]: target.checked } })
    })
  }
  return { part, map: new CrowdMap(part('.map'), shoreline, beach), chart: new Chart(part('.chart')) }
}

/** @param {object} settings */
async function set(settings) {
  unanswered++
  try {
    const answer = await fetch('settings', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(settings),
    })
    if (answer.ok) revision = Math.max(revision, (await answer.json()).revision)
  } catch {
    // The next state from the server restores the settings that apply.
  } finally {
    unanswered--
  }
}

/** @param {Told} told */
function show(told) {
  setText(byId('live'), told.sides.every(side => side.isUp !== undefined) ? '' : 'starting')
  setText(byId('machine'), told.machine)
  setText(byId('lines'), String(told.linesPerS))
  for (const side of told.sides) showSide(side, side.name === 'left' ? told.left : told.right)
  // An older state would undo the visitor's last change.
  if (unanswered === 0 && told.revision >= revision) showSettings(told)
}

/** @param {Told} told */
function showSettings({ phones, left, right }) {
  byId('phones').value = String(STEPS.findLastIndex(step => step <= phones))
  showPhones(phones)
  for (const [name, { protect, log }] of Object.entries({ left, right })) {
    const part = sides.get(name)?.part
    if (part === undefined) continue
    part('.protect').checked = protect
    part('.log').checked = log
  }
}

/** @param {Figures} figures @param {SideSettings} settings */
function showSide(figures, { protect, log }) {
  const side = sides.get(figures.name)
  if (side === undefined) return
  const { part, map, chart } = side
  const title = (protect ? 'protected' : 'bare') + (log ? ', with console.log' : '')
  const state = figures.isUp === true ? (figures.state ?? 'calm') : 'down'
  setText(part('h2'), title)
  setText(part('.state'), STATES[state])
  part('.state').dataset.is = state
  byId(figures.name).dataset.is = state
  for (const element of part('.figures').querySelectorAll('dd')) {
    const of = element.dataset.of
    const value = /** @type {any} */ (figures)[of]
    setText(element, of === 'p99Ms' ? ms(value) : number.format(value ?? 0))
  }
  map.draw(figures.ages, Date.now())
  map.canvas.setAttribute(
    'aria-label',
    `The shore, ${title}: ${number.format(map.fresh)} of ${number.format(map.phones)} phones stored just now`,
  )
  chart.add(figures.duePerS ?? 0, figures.inTimePerS ?? 0)
  chart.canvas.setAttribute(
    'aria-label',
    `The last minute, ${title}: ${number.format(figures.inTimePerS ?? 0)} of ${number.format(figures.duePerS ?? 0)} positions a second stored in time now`,
  )
}

/** @param {number | undefined} value */
const ms = value =>
  value === undefined
    ? '–'
    : value >= 3900
      ? 'over 4 s'
      : value >= 1000
        ? `${(value / 1000).toFixed(1)} s`
        : `${Math.round(value)} ms`

/** @param {number} phones */
function showPhones(phones) {
  setText(byId('phones-now'), number.format(phones))
  byId('phones').setAttribute('aria-valuetext', `${number.format(phones)} phones`)
}

/** @param {Element} element @param {string} text */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text
}
