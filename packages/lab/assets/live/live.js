/**
 * The page of `meltlab live`: asks for a load, and draws what it is told, ten times a second at most. Hidden, it hears
 * nothing, so that a browser full of such pages costs nothing either.
 */
import { Dots } from './dots.js'
import { Curve, Minute } from './lines.js'
import { chosen, ms, rate, STATES, times } from './words.js'

/** @typedef {import('./words.js').Told} Told @typedef {import('./words.js').About} About @typedef {import('./words.js').Side} Side */

/** Interval of the pictures for users who prefer reduced motion, ms. */
const CALM_MS = 1000
/** Interval of the texts for screen readers, ms. */
const WORDS_MS = 1000
/** For this time after the user moved the slider, messages do not move it, ms. */
const HELD_MS = 1500

/** @param {string} id @returns {any} */
const byId = id => document.getElementById(id)
const slider = byId('load')
const calm = matchMedia('(prefers-reduced-motion: reduce)')

/** @type {About | undefined} */
let about
let stops = [0.5]
let heldUntil = 0
let drawnAt = 0
let wordsAt = 0
/** @type {EventSource | undefined} */
let source
let isOver = false

const sides = ['bare', 'protected'].map(makeSide)
const curve = new Curve(byId('curve'))

/** @param {string} name */
function makeSide(name) {
  const section = byId(name)
  section.append(byId('side').content.cloneNode(true))
  /** @param {string} selector @returns {any} */
  const part = selector => section.querySelector(selector)
  part('h2').id = `${name}-title`
  part('h2').textContent = name
  const figures = [...section.querySelectorAll('dd')]
  return { name, part, figures, dots: new Dots(part('.dots')), minute: new Minute(part('.minute')) }
}

function watch() {
  if (source !== undefined || isOver) return
  source = new EventSource('/events')
  source.addEventListener('about', ({ data }) => showAbout(JSON.parse(data)))
  source.addEventListener('told', ({ data }) => show(JSON.parse(data)))
  source.addEventListener('report', ({ data }) => {
    isOver = true
    location.assign(JSON.parse(data))
  })
  source.addEventListener('error', () => {
    if (isOver) return
    canSteer(false)
    say('meltlab does not answer here. The terminal says whether it has ended, and where the report is.')
  })
}

/** @param {boolean} can */
function canSteer(can) {
  slider.disabled = byId('end').disabled = !can
}

function leave() {
  source?.close()
  source = undefined
}

document.addEventListener('visibilitychange', () => (document.hidden ? leave() : watch()))

/** @param {About} told */
function showAbout(told) {
  about = told
  stops = told.stops
  slider.max = String(stops.length - 1)
  setText(byId('command'), told.command)
  setText(byId('machine'), told.machine)
  setText(byId('slo'), chosen(told.sloMs))
  setText(byId('timeout'), chosen(told.timeoutMs))
  curve.within(told.capacity, stops)
  for (const { dots, minute } of sides) {
    dots.within(told.sloMs, told.timeoutMs)
    minute.within(told.capacity)
    // What comes next is all there is.
    minute.clear()
  }
  byId('marks').replaceChildren(
    ...[0.5, 1, 2, 5, 10, 20]
      .filter(load => stops.includes(load))
      .map(load => {
        const mark = document.createElement('span')
        mark.textContent = times(load)
        mark.style.setProperty('--at', String(stops.indexOf(load) / Math.max(1, stops.length - 1)))
        return mark
      }),
  )
  say('')
  canSteer(true)
}

/** @param {Told} told */
function show(told) {
  const now = performance.now()
  if (now > heldUntil) {
    slider.value = String(Math.max(0, stops.indexOf(told.load)))
    showLoad(told.load)
  }
  const isSpoken = now - wordsAt >= WORDS_MS
  if (isSpoken) wordsAt = now
  for (const [index, side] of told.sides.entries()) {
    const { dots, minute } = sides[index] ?? {}
    dots?.add(told.atS, side.dots)
    for (const [atS, , good] of told.points ?? []) minute?.add(atS, good[index] ?? 0)
    showFigures(index, side, told.unjudged)
    if (isSpoken) describe(index, side)
  }
  setText(byId('unjudged'), told.unjudged === undefined ? '' : `No verdict: ${told.unjudged}.`)
  curve.set([told.load, told.sides.map(side => side.good)], told.curve)
  if (isSpoken) showGenerator(told)
  if (calm.matches && now - drawnAt < CALM_MS) return
  drawnAt = now
  curve.draw()
  for (const { dots, minute } of sides) {
    dots.draw()
    minute.draw()
  }
}

/** @param {number} index @param {Side} figures @param {string | undefined} unjudged */
function showFigures(index, figures, unjudged) {
  const side = sides[index]
  if (side === undefined) return
  // That the process has ended is a fact, whatever else is unsure.
  const state = unjudged === undefined || figures.state === 'ended' ? figures.state : 'unjudged'
  setText(side.part('.state'), STATES[state])
  side.part('.state').dataset.is = state
  for (const element of side.figures) {
    const of = element.dataset.of
    setText(element, of === 'p99Ms' ? ms(figures.p99Ms) : rate(/** @type {any} */ (figures)[of ?? ''] ?? 0))
  }
}

/** @param {number} index @param {Side} figures */
function describe(index, { due, good, late, refused, lost }) {
  const side = sides[index]
  if (side === undefined) return
  side
    .part('.dots')
    .setAttribute(
      'aria-label',
      `Requests of the last ten seconds, ${side.name}: of ${rate(due)} a second, ${rate(good)} answered in time, ` +
        `${rate(late)} late, ${rate(refused)} refused, ${rate(lost)} lost`,
    )
  side
    .part('.minute')
    .setAttribute(
      'aria-label',
      `Good answers a second in the last minute, ${side.name}: ${rate(good)} now, of ${rate(about?.capacity ?? 0)} it can give`,
    )
}

/** @param {Told} told */
function showGenerator({ load, sides: told }) {
  const own = Math.max(...told.map(side => side.ownMs ?? 0))
  const late = own > 0
  const generator = byId('generator')
  generator.dataset.late = String(late)
  setText(
    generator,
    late ? `not certified: the load is late, up to ${ms(own)} of the latency are its own` : 'the load is on time',
  )
  byId('curve').setAttribute(
    'aria-label',
    `At ${times(load)} of what the app can do: bare ${rate(told[0]?.good ?? 0)} good answers a second, protected ${rate(told[1]?.good ?? 0)}`,
  )
}

/** @param {number} load */
function showLoad(load) {
  const requests = `${rate(load * (about?.capacity ?? 0))} requests a second on each`
  setText(byId('load-now'), times(load))
  setText(byId('rate'), requests)
  slider.setAttribute('aria-valuetext', `${load} times what the app can do, ${requests}`)
}

let wanted = 0
let isAsking = false

/** Sends one request at a time, with the latest load, however fast the user drags. */
async function ask() {
  if (isAsking) return
  isAsking = true
  for (let asked = 0; asked !== wanted; ) {
    asked = wanted
    await post('/load', { load: asked })
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  isAsking = false
}

slider.addEventListener('input', () => {
  heldUntil = performance.now() + HELD_MS
  wanted = stops[Number(slider.value)] ?? 0.5
  showLoad(wanted)
  void ask()
})
byId('end').addEventListener('click', async () => {
  canSteer(false)
  say('Waiting for the last answers. The report comes next; a measured capacity is measured again before it.')
  await post('/end', {})
})

/** @param {string} path @param {object} body */
async function post(path, body) {
  const headers = { 'content-type': 'application/json' }
  await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) }).catch(() => {})
}

/** @param {string} text */
function say(text) {
  setText(byId('news'), text)
}

/** @param {Element} element @param {string} text */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text
}

if (!document.hidden) watch()
