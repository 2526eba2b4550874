/** The map as a list. Names are user input: they are set as text, never as markup. */
import { isSilent, nameOf } from './crowd.js'

/** Maximum number of rows; visitors would not read more. */
const MOST_ROWS = 200
const REFRESH_MS = 5000
const number = new Intl.NumberFormat()

/** @param {string} id @returns {any} */
const byId = id => document.getElementById(id)

/** @param {import('./crowd.js').Crowd} crowd @param {(walker: import('./crowd.js').Walker) => void} onChosen */
export function startList(crowd, onChosen) {
  const fill = () => fillList([...crowd.walkers.values()], onChosen)
  byId('who').addEventListener('click', () => {
    fill()
    byId('list').showModal()
  })
  setInterval(() => {
    // Rows must not change while the visitor points at one or has one in focus.
    if (byId('list').open && !byId('rows').matches(':hover, :focus-within')) fill()
  }, REFRESH_MS)
}

/**
 * @param {readonly import('./crowd.js').Walker[]} all
 * @param {(walker: import('./crowd.js').Walker) => void} onChosen
 */
function fillList(all, onChosen) {
  const now = Date.now()
  const walkers = all.toSorted((a, b) => b.seenAt - a.seenAt)
  const rows = walkers.slice(0, MOST_ROWS).map(walker => {
    const row = document.createElement('tr')
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = nameOf(walker)
    button.title = 'Show on the map'
    button.addEventListener('click', () => {
      byId('list').close()
      onChosen(walker)
    })
    row.insertCell().append(button)
    row.insertCell().textContent = isSilent(walker, now) ? ago(now - walker.seenAt) : 'now'
    row.insertCell().textContent = `${walker.lat.toFixed(5)}, ${walker.lon.toFixed(5)}`
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

/** @param {number} ms */
const ago = ms => (ms < 120_000 ? `${Math.round(ms / 1000)} s ago` : `${Math.round(ms / 60_000)} min ago`)
