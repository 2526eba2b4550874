/**
 * Shows the shore within the phone's page, because a page that the walker leaves sends nothing, and a tab in the
 * background gets no positions. Meanwhile the address ends in #shore, so that the phone's back button leads to the
 * walk.
 */

/** @param {{ link: HTMLAnchorElement, dialog: HTMLDialogElement, back: HTMLElement }} parts */
export function watchInPlace({ link, dialog, back }) {
  link.addEventListener('click', event => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    location.hash = 'shore'
  })
  // A page that was opened at #shore has no earlier entry in its history to go back to.
  const leave = () => (history.state?.from === 'walk' ? history.back() : location.replace('#'))
  back.addEventListener('click', leave)
  // Escape, and the back gesture of some phones.
  dialog.addEventListener('cancel', event => {
    event.preventDefault()
    leave()
  })
  const follow = () => {
    const wanted = location.hash === '#shore'
    if (wanted === dialog.open) return
    if (!wanted) {
      dialog.querySelector('iframe')?.remove()
      return dialog.close()
    }
    const frame = document.createElement('iframe')
    frame.title = 'The shore'
    frame.src = link.href
    dialog.append(frame)
    dialog.showModal()
  }
  addEventListener('hashchange', event => {
    if (location.hash === '#shore' && !event.oldURL.endsWith('#shore')) history.replaceState({ from: 'walk' }, '')
    follow()
  })
  follow()
}
