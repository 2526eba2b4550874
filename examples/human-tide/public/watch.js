/**
 * Shows the shore within the phone's page: a page that is left sends nothing any more, and a tab in the background learns
 * no positions. The address has a #shore while it is shown, so that the phone's own way back comes back to the walk.
 */

/** @param {{ link: HTMLAnchorElement, dialog: HTMLDialogElement, back: HTMLElement }} parts */
export function watchInPlace({ link, dialog, back }) {
  link.addEventListener('click', event => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    location.hash = 'shore'
  })
  // A page that was opened with the shore in front has nothing behind it to go back to.
  const leave = () => (history.state?.from === 'walk' ? history.back() : location.replace('#'))
  back.addEventListener('click', leave)
  // Escape, and the way back of some phones.
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
