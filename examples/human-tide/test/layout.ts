/** Finds faults in the layout of a page: text and controls that overlap, stick out, or have too little contrast. */
import type { Frame, Page } from 'playwright-core'

export const SIZES = [
  { width: 320, height: 568 },
  { width: 375, height: 640 },
  { width: 768, height: 1024 },
  { width: 1024, height: 768 },
  { width: 1440, height: 900 },
] as const
export const SCHEMES = ['light', 'dark'] as const

/** Minimum contrast of usual text and of large text: Web Content Accessibility Guidelines 2.2, level AA. */
const CONTRAST = { usual: 4.5, large: 3 }

// Runs in the browser, so it is a string: these tests are compiled without browser types.
const FAULTS = `(() => {
  const ATOMS = 'canvas, img, iframe, svg, input, button'
  const lineage = each => (each === null ? [] : [each, ...lineage(each.parentElement)])
  const isHidden = each => lineage(each).some(one => getComputedStyle(one).clipPath !== 'none')
  const shown = [...document.body.querySelectorAll('*')].filter(
    each => each.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !each.closest('svg *') && !isHidden(each),
  )
  const linesOf = each => [...each.childNodes].filter(node => node.nodeType === 3 && node.data.trim() !== '').flatMap(node => {
    const range = document.createRange()
    range.selectNodeContents(node)
    // The glyphs need less than the box of a line, which may be higher than the distance of two lines.
    return [...range.getClientRects()].map(({ left, right, top, bottom, height }) => ({ left, right, top: top + height / 6, bottom: bottom - height / 6 }))
  })
  const named = each => each.tagName.toLowerCase() + (each.id && '#' + each.id) + ' "' + each.textContent.trim().replace(/\\s+/g, ' ').slice(0, 30) + '"'
  const items = shown.map(each => ({ each, lines: linesOf(each) })).flatMap(({ each, lines }) => [
    ...(lines.length === 0 ? [] : [{ each, isText: true, boxes: lines }]),
    ...(each.matches(ATOMS) ? [{ each, isText: false, boxes: [each.getBoundingClientRect()] }] : []),
  ])
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1
  const faults = []
  if (document.documentElement.scrollWidth > innerWidth) faults.push('the page scrolls sideways')
  for (const [at, one] of items.entries()) {
    for (const other of items.slice(at + 1)) {
      const isWithin = one.each.contains(other.each) && !one.isText || other.each.contains(one.each) && !other.isText || one.each === other.each
      if (!isWithin && one.boxes.some(a => other.boxes.some(b => meet(a, b)))) faults.push(named(one.each) + ' and ' + named(other.each) + ' overlap')
    }
    const outer = lineage(one.each).slice(one.isText ? 0 : 1).find(each => {
      const room = each.getBoundingClientRect()
      return getComputedStyle(each).display !== 'inline' && one.boxes.some(box => box.left < room.left - 1 || box.right > room.right + 1)
    })
    if (outer !== undefined) faults.push(named(one.each) + ' sticks out of ' + named(outer))
  }
  const numbers = colour => { const [r, g, b, alpha = 1] = colour.match(/[\\d.]+/g).map(Number); return { rgb: [r, g, b], alpha } }
  const paperOf = each => {
    const { rgb, alpha } = numbers(getComputedStyle(each).backgroundColor)
    if (alpha === 1 || each.parentElement === null) return alpha === 0 ? [255, 255, 255] : rgb
    const below = paperOf(each.parentElement)
    return rgb.map((value, at) => value * alpha + below[at] * (1 - alpha))
  }
  const light = rgb => rgb.map(value => value / 255).map(value => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, at) => sum + [0.2126, 0.7152, 0.0722][at] * value, 0)
  for (const { each } of items.filter(({ isText }) => isText)) {
    const { color, fontSize, fontWeight } = getComputedStyle(each)
    const [ink, paper] = [light(numbers(color).rgb), light(paperOf(each))]
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05)
    const isLarge = parseFloat(fontSize) >= 24 || (parseFloat(fontSize) >= 18.66 && Number(fontWeight) >= 700)
    if (ratio < (isLarge ? ${CONTRAST.large} : ${CONTRAST.usual})) faults.push(named(each) + ' has a contrast of ' + ratio.toFixed(1))
  }
  return faults
})()`

/** Waits for four animation frames, so that the page is drawn and its frame resized, before it looks for faults. */
export async function faultsIn(page: Page | Frame): Promise<string[]> {
  for (let frame = 0; frame < 4; frame++) await page.evaluate('new Promise(requestAnimationFrame)')
  return page.evaluate<string[]>(FAULTS)
}

/** Calls `look` at each size, in light and in dark mode. */
export async function atEachSize(
  page: Page,
  sizes: readonly (typeof SIZES)[number][],
  look: (size: (typeof SIZES)[number], where: string) => Promise<unknown>,
): Promise<void> {
  for (const size of sizes) {
    for (const colorScheme of SCHEMES) {
      await page.setViewportSize(size)
      await page.emulateMedia({ colorScheme })
      await look(size, `${size.width} x ${size.height}, ${colorScheme}`)
    }
  }
}
