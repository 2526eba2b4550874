/** Points of two figures: their positions, their labels, and the marks at the axis. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { besidePoints } from '../../src/report/plot-frame.ts'
import { pictureSvg, plotSvg } from '../../src/report/plot-svg.ts'
import type { PointsPlot } from '../../src/report/result.ts'

const arms = [
  { name: 'bare', kind: 'bare', what: '' },
  { name: 'toobusy-js', kind: 'also', what: '' },
  { name: 'meltproof', kind: 'protected', what: '' },
] as const

const plot: PointsPlot = {
  kind: 'points',
  title: 'Goodput against p99',
  x: { label: 'p99', unit: 'ms', scale: 'log' },
  y: { label: 'kept', unit: 'percent' },
  panels: [10, 100].map(load => ({
    label: `at ${load}x`,
    ideal: { value: 95, name: 'ideal' },
    points: [
      { arm: 'bare', x: null, y: 0 },
      { arm: 'toobusy-js', x: 600, y: 98 },
      { arm: 'meltproof', x: 100, y: 93 },
    ],
  })),
}

/** The centres of all circles, which are meltproof's mark. */
const circles = (svg: string): number[][] =>
  [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map(([, cx, cy]) => [Number(cx), Number(cy)])

test('each arm is a labelled point in each panel, and the ideal is a line', () => {
  for (const svg of [
    pictureSvg(plot, arms, 'A headline'),
    plotSvg(plot, arms, ['wide']),
    plotSvg(plot, arms, ['narrow']),
  ]) {
    assert.doesNotMatch(svg, /NaN|undefined|Infinity/)
    for (const { name } of arms) assert.equal(svg.split(`>${name}</text>`).length - 1, 2, name)
    assert.equal(svg.match(/class="level"/g)?.length, 2)
    assert.equal(svg.match(/>none<\/text>/g)?.length, 2)
    assert.match(svg, /<title>toobusy-js: 98 % at 600 ms<\/title>/)
    assert.match(svg, /<title>bare: 0 % at none<\/title>/)
  }
  assert.match(pictureSvg(plot, arms, 'A headline'), /prefers-color-scheme:dark/)
})

test('the region better than the protected arm is shaded up to its point', () => {
  const svg = plotSvg(plot, arms, ['wide'])
  const corners = [...svg.matchAll(/<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" fill-opacity/g)]
  const ends = corners.map(([, x, y, width, height]) => [Number(x) + Number(width), Number(y) + Number(height)])
  assert.deepEqual(
    ends.map(end => end.map(Math.round)),
    circles(svg).map(at => at.map(Math.round)),
  )
  assert.ok(corners.every(([, , , width]) => Number(width) > 20))
})

test('panels are side by side on a wide page, and stacked on a phone', () => {
  const [left, right] = circles(plotSvg(plot, arms, ['wide']))
  assert.ok(right![0]! > left![0]! && right![1] === left![1])
  assert.match(plotSvg(plot, arms, ['narrow']), /translate\(0 \d+\)/)
})

test('an empty plot of points is still valid SVG', () => {
  const [panel] = plot.panels
  for (const panels of [[], [{ ...panel!, points: [] }], [{ ...panel!, points: [{ arm: 'bare', x: null, y: 0 }] }]]) {
    for (const place of ['wide', 'narrow'] as const)
      assert.doesNotMatch(plotSvg({ ...plot, panels }, arms, [place]), /NaN|undefined|Infinity/)
  }
})

test('no name covers the name of the ideal, or leaves the frame', () => {
  const within = { left: 84, right: 300, top: 28, bottom: 362 }
  const ideal = { left: 90, right: 128, top: 60, bottom: 78 }
  const points = [
    { x: 200, y: 70, width: 90 },
    { x: 290, y: 70, width: 80 },
  ]
  const [first, second] = besidePoints(points, within, [ideal])
  assert.deepEqual([first?.anchor, second?.anchor], ['end', 'end'], 'there is no room to the right')
  // Letters reach 9 px above and below the middle.
  assert.ok(first!.y + 9 <= ideal.top || first!.y - 9 >= ideal.bottom, `at ${first!.y}`)
  assert.equal(besidePoints(points, within)[0]?.y, 70)
})

test('labels of up to eight arms do not overlap, wherever the points are', () => {
  const within = { left: 84, right: 952, top: 28, bottom: 362 }
  const point = fc.record({
    x: fc.double({ min: 84, max: 912, noNaN: true }),
    y: fc.double({ min: 40, max: 352, noNaN: true }),
    width: fc.double({ min: 30, max: 180, noNaN: true }),
  })
  fc.assert(
    fc.property(fc.array(point, { maxLength: 8 }), points => {
      const boxes = besidePoints(points, within).map(({ x, y, anchor }, at) => {
        const left = anchor === 'start' ? x : x - points[at]!.width
        return { left, right: left + points[at]!.width, y }
      })
      for (const [at, a] of boxes.entries()) {
        assert.ok(a.left >= within.left && a.right <= within.right, 'inside')
        for (const b of boxes.slice(at + 1)) {
          assert.ok(a.right <= b.left || b.right <= a.left || Math.abs(a.y - b.y) >= 17.99, 'apart')
        }
      }
    }),
  )
})
