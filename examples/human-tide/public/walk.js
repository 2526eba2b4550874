/** The phone's page: consent, start and stop, and the state of the walk. */
import { openOutbox } from './outbox.js'
import { keyOf } from './phone-key.js'
import { startPositionClock } from './position-clock.js'
import { Sender } from './sender.js'
import { watchInPlace } from './watch.js'
import { faultOfName } from './walker-name.js'

/** A request that is not answered within this time counts as no signal, ms. */
const GIVE_UP_MS = 10_000

/** @param {string} id @returns {any} */
const byId = id => document.getElementById(id)
const number = new Intl.NumberFormat()
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })

const outbox = await openOutbox()
/** @type {Sender | undefined} */
let sender
/** @type {(() => void) | undefined} */
let endWalk
let acknowledged = 0
/** The part of `acknowledged` that the present sender has reported. */
let counted = 0
/** Whether the server has refused the name: the positions stay on the phone until the walker chooses another. */
let wantsName = false
/** The name that the walker has submitted, not the text that is being typed. @type {string} */
let name = (await outbox.get('name')) ?? ''

byId('name').value = name
acknowledged = (await outbox.get('stored')) ?? 0
byId('after').hidden = acknowledged === 0 && (await outbox.count()) === 0
if (await outbox.get('forgetting')) sayNotDeleted()
else if ((await outbox.count()) > 0) startSending() // positions that an earlier visit could not send
void showNumbers()
void fetch('/api/about').then(
  async answer => {
    const { keepDays, join, hasStorm } = await answer.json()
    showDesk(join, hasStorm)
    byId('keep').textContent = keepDays === 1 ? 'one day' : `${keepDays} days`
  },
  () => {},
)
void navigator.serviceWorker?.register('/sw.js').catch(() => {})

byId('begin').addEventListener('submit', (/** @type {Event} */ event) => {
  event.preventDefault()
  const badName = faultOfName(byId('name').value.trim())
  const problem = badName
    ? badName
    : !byId('consent').checked
      ? 'Please agree first, or just watch the shore.'
      : !window.isSecureContext
        ? 'Browsers give the position only to pages that are served over https.'
        : !('geolocation' in navigator)
          ? 'This browser can not tell where you are.'
          : ''
  byId('problem').textContent = problem
  if (problem !== '') return void byId(badName ? 'name' : 'consent').focus()
  void walk()
})
byId('rename').addEventListener('submit', (/** @type {Event} */ event) => {
  event.preventDefault()
  void rename(byId('new-name').value.trim())
})
byId('stop').addEventListener('click', () => endWalk?.())
byId('delete').addEventListener('click', () => byId('sure').showModal())
byId('sure').addEventListener('close', () => {
  if (byId('sure').returnValue === 'delete') void forget()
})
watchInPlace({ link: byId('watch'), dialog: byId('watching'), back: byId('back') })
addEventListener('online', () => sender?.kick())
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') sender?.kick()
})

/** Fills in what walk.css shows on a desktop. @param {string | null} join @param {boolean} hasStorm */
function showDesk(join, hasStorm) {
  if (!matchMedia('(min-width: 48rem) and (pointer: fine)').matches) return
  const canScan = join?.startsWith('https:') === true
  byId('join-here').hidden = !canScan
  byId('join-how').hidden = canScan
  if (canScan) Object.assign(byId('join-code'), { src: '/api/join.svg', alt: `QR code of ${join}` })
  byId('why').hidden = hasStorm
  byId('storm').hidden = !hasStorm
  if (!hasStorm) return
  // The frame is as high as its content, so that only the page scrolls.
  const fit = () => {
    const { body } = byId('storm').contentDocument
    new ResizeObserver(() => {
      byId('storm').style.height = `${Math.ceil(body.getBoundingClientRect().height)}px`
    }).observe(body)
  }
  byId('storm').addEventListener('load', fit)
  byId('storm').src = '/storm/'
}

/** Only one tab may walk at a time, because two tabs would send every position twice. */
async function walk() {
  name = byId('name').value.trim()
  await outbox.set('name', name)
  await outbox.set('forgetting', false)
  await navigator.locks.request('walk', { ifAvailable: true }, lock => {
    if (lock === null) {
      byId('problem').textContent = 'You are walking in another tab already.'
      return undefined
    }
    return new Promise(resolve => begin(resolve))
  })
}

/** @param {(nothing: void) => void} ended */
function begin(ended) {
  byId('after').hidden = true
  byId('walking').hidden = false
  say('walking', 'Finding you', 'Allow this page to use your location when your phone asks.')
  startSending()
  const endClock = startPositionClock({
    onState: ({ is, how }) => {
      show('gps', is, how)
      if (is === 'bad') say('walking', 'We can not see you', `Position ${how}.`)
    },
    onFix: fix => void outbox.keep(fix).then(showNumbers, () => show('gps', 'bad', 'this phone can not keep it')),
  })
  const endAwake = keepAwake()
  byId('stop').focus()
  endWalk = () => {
    endWalk = undefined
    endClock()
    endAwake()
    byId('walking').hidden = true
    byId('after').hidden = false
    showForms()
    say('stopped', 'Thank you for walking', 'What is still on this phone is sent while this page stays open.')
    byId('start').focus()
    ended()
  }
  showForms()
}

/** Shows the form that begins a walk, or the form for another name if the server has refused the name. */
function showForms() {
  byId('rename').hidden = !wantsName
  byId('begin').hidden = wantsName || endWalk !== undefined
}

/** @param {string} why */
function askForName(why) {
  setText(byId('rename-problem'), why)
  if (wantsName) return // the name was refused again: keep what the walker is typing
  wantsName = true
  byId('new-name').value = name
  showForms()
  byId('new-name').focus()
}

/** @param {string} given */
async function rename(given) {
  const fault = faultOfName(given)
  if (fault !== undefined) {
    byId('rename-problem').textContent = fault
    return byId('new-name').focus()
  }
  name = byId('name').value = given
  await outbox.set('name', name)
  wantsName = false
  showForms()
  show('signal', 'wait', 'sending with your new name')
  sender?.kick()
}

function startSending() {
  if (sender !== undefined) return sender.kick()
  counted = 0
  sender = new Sender({ outbox, post, name: () => name, onState: onSender, alone })
  void sender.run()
}

/**
 * Locks the outbox, because other tabs may send or delete too.
 * @template T @param {() => Promise<T>} act @returns {Promise<T>}
 */
function alone(act) {
  return navigator.locks.request('outbox', act)
}

/** @param {object} report */
async function post(report) {
  const key = await keyOf(outbox)
  return fetch('/api/positions', {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(report),
    signal: AbortSignal.timeout(GIVE_UP_MS),
  })
}

/** @param {import('./sender.js').State} state */
function onSender(state) {
  acknowledged += state.stored - counted
  if (state.stored !== counted) void outbox.set('stored', acknowledged)
  counted = state.stored
  const again = `trying again in ${Math.ceil(state.waitMs / 1000)} s`
  if (state.signal === 'stored') {
    show('signal', 'good', 'connected')
    byId('stored-note').textContent = `at ${clock.format(new Date())}`
    if (endWalk !== undefined) say('walking', 'You are on the shore', 'Keep the water beside you.')
  } else if (state.signal === 'no-signal') {
    show('signal', 'warn', `none; ${again}`)
    if (endWalk !== undefined)
      say('offline', 'No signal. Walk on', 'This phone keeps every position and sends it later.')
  } else if (state.signal === 'server-busy') {
    show('signal', 'warn', `the server is busy; ${again}`)
    if (endWalk !== undefined)
      say('offline', 'The server is busy. Walk on', 'This phone keeps every position and sends it later.')
  } else if (state.signal === 'refused') {
    show('signal', 'bad', state.detail || 'the server does not take it')
    if (state.code === 'bad-name') askForName(state.detail)
  }
  if (state.signal === 'stored' && wantsName) {
    wantsName = false
    showForms()
  }
  if (state.unusable > 0) byId('waiting-note').textContent = `${number.format(state.unusable)} could not be used`
  void showNumbers()
}

/**
 * The order matters: the last request ends, then the server deletes the walk, and only then is the key deleted, because
 * nothing else authorises the deletion. If it fails, nothing is sent until the walker starts again, even after a
 * reload.
 */
async function forget() {
  byId('after').hidden = byId('start').disabled = true
  say('stopped', 'Deleting your walk', 'Waiting for what is being sent right now.')
  await outbox.set('forgetting', true)
  const sending = sender
  sender = undefined
  await sending?.stop().catch(() => {}) // a sender that has failed has no request under way
  const deleted = await alone(async () => {
    const isGone = await deleteAtServer()
    if (isGone) await outbox.clear()
    return isGone
  })
  byId('start').disabled = false
  if (!deleted) return sayNotDeleted()
  acknowledged = 0
  // The next walker has not agreed to anything yet.
  name = byId('name').value = ''
  byId('consent').checked = wantsName = false
  showForms()
  byId('stored-note').textContent = 'nothing yet'
  say('idle', 'Your walk is deleted', 'Nothing of it is left, here or on the server.')
  void showNumbers()
}

async function deleteAtServer() {
  const key = await keyOf(outbox)
  const answer = await fetch('/api/walker', {
    method: 'DELETE',
    headers: { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(GIVE_UP_MS),
  }).catch(() => undefined)
  return answer?.status === 204
}

function sayNotDeleted() {
  byId('after').hidden = false
  say(
    'stopped',
    'Not deleted yet',
    'The server could not be reached. Please try again when there is a signal. Until then this phone sends nothing.',
  )
}

/** A phone whose screen is off reports no positions. @returns {() => void} */
function keepAwake() {
  /** @type {WakeLockSentinel | undefined} */
  let lock
  let wanted = true
  const ask = async () => {
    if (!wanted || document.visibilityState !== 'visible') return
    try {
      lock = await navigator.wakeLock.request('screen')
      show('awake', 'good', 'stays on while you walk')
    } catch {
      show('awake', 'warn', 'keep it on yourself while you walk')
    }
  }
  void ask()
  document.addEventListener('visibilitychange', ask)
  return () => {
    wanted = false
    document.removeEventListener('visibilitychange', ask)
    void lock?.release()
  }
}

async function showNumbers() {
  byId('stored').textContent = number.format(acknowledged)
  byId('waiting').textContent = number.format(await outbox.count())
}

/** @param {string} id @param {string} is @param {string} how */
function show(id, is, how) {
  byId(id).dataset.is = is
  setText(byId(id).querySelector('.how'), how)
}

/**
 * Screen readers read the headline out, so it is set only if it has changed.
 * @param {string} state @param {string} headline @param {string} explain
 */
function say(state, headline, explain) {
  document.body.dataset.state = state
  setText(byId('headline'), headline)
  setText(byId('explain'), explain)
}

/** @param {Element} element @param {string} text */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text
}
