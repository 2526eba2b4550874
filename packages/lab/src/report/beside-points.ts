/** Places the names of points so that none covers another name or a point. Pure numbers, no SVG. */

export interface Named {
  readonly x: number
  readonly y: number
  readonly width: number
}

export interface Place {
  readonly x: number
  /** Vertical middle of the letters. */
  readonly y: number
  readonly anchor: 'start' | 'end'
}

interface Box {
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

/** Half the height of a name, half the size of a mark, and how far a name is from its mark; px. */
const HALF_NAME = 9
const HALF_MARK = 7
const GAP = 12
/** Names are tried up to this many rows above and below their points. */
const MOST_ROWS = 9

const touch = (a: Box, b: Box): boolean => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom

/** Puts each name beside its point, or in the nearest row above or below with room. The first point chooses first. */
export function besidePoints(points: readonly Named[], within: Box): readonly Place[] {
  const taken: Box[] = points.map(({ x, y }) => ({
    ...{ left: x - HALF_MARK, right: x + HALF_MARK, top: y - HALF_MARK, bottom: y + HALF_MARK },
  }))
  return points.map(point => {
    const tried = placesOf(point).map(place => ({ place, box: boxOf(place, point.width) }))
    const inside = tried.filter(
      ({ box }) =>
        box.left >= within.left && box.right <= within.right && box.top >= within.top && box.bottom <= within.bottom,
    )
    const { place, box } = inside.find(each => !taken.some(other => touch(each.box, other))) ?? inside[0] ?? tried[0]!
    taken.push(box)
    return place
  })
}

function placesOf({ x, y }: Named): Place[] {
  return Array.from({ length: 2 * MOST_ROWS + 1 }, (_, at) => Math.ceil(at / 2) * (at % 2 === 0 ? 1 : -1)).flatMap(
    row => [
      { x: x + GAP, y: y + 2 * HALF_NAME * row, anchor: 'start' as const },
      { x: x - GAP, y: y + 2 * HALF_NAME * row, anchor: 'end' as const },
    ],
  )
}

function boxOf({ x, y, anchor }: Place, width: number): Box {
  const left = anchor === 'start' ? x : x - width
  return { left, right: left + width, top: y - HALF_NAME, bottom: y + HALF_NAME }
}
