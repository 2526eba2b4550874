/** What the page offers on an empty shore: the address for phones, and simulated walkers for the operator. */

/** End of the names of simulated walkers (src/simulated/simulated-walkers.ts). */
const SIMULATED = / \(sim\)$/

/** @param {string} id @returns {any} */
const byId = id => document.getElementById(id)
/** @type {{ join: string | null, maySimulate: boolean }} */
let about = { join: null, maySimulate: false }
/** Inside the phone's page the way to join is not shown, because the visitor is already there. */
const isFramed = window !== window.top

export async function startJoin() {
  byId('simulate').addEventListener('click', () => void ask('POST', byId('simulate')))
  byId('send-home').addEventListener('click', () => void ask('DELETE', byId('send-home')))
  if (isFramed) return
  about = await fetch('/api/about').then(answer => answer.json())
  const { join } = about
  for (const image of document.querySelectorAll('img')) {
    image.hidden = join === null
    image.alt = `QR code of ${join}`
    if (join !== null) image.src = '/api/join.svg'
  }
  const address = (join ?? '').replace(/\/$/, '')
  for (const element of document.querySelectorAll('.join')) element.textContent = address.replace(/^https?:\/\//, '')
  const how = document.querySelector('.how')
  if (how === null) return
  how.textContent =
    join === null
      ? 'Phones can not reach this address. npm run phones -w human-tide lets them in.'
      : join.startsWith('https:')
        ? `Scan this with a phone, or open ${address}`
        : `Phones can open this page, but send their position only over https: npm run phones -w human-tide.`
  byId('simulate').hidden = !about.maySimulate
}

/** @param {readonly import('./crowd.js').Walker[]} walking @param {boolean} live */
export function showJoin(walking, live) {
  const isEmpty = live && walking.length === 0
  byId('empty').hidden = !isEmpty
  // The empty shore already shows the address.
  byId('invitation').hidden = about.join === null || isEmpty
  byId('send-home').hidden = !live || !about.maySimulate || !walking.some(({ name }) => SIMULATED.test(name))
}

/** @param {string} method @param {HTMLButtonElement} button */
async function ask(method, button) {
  button.disabled = true
  const said = await fetch('/api/simulated', { method })
    .then(async answer => (answer.ok ? '' : (await answer.json()).title))
    .catch(() => 'The service does not answer.')
  byId('not-simulated').textContent = said
  button.disabled = false
}
