/**
 * Draws the picture of the README from the committed result of the burst experiment: few words, and type that stays
 * readable when the picture is as narrow as a phone.
 *
 *   node bench/readme-picture.ts        writes docs/images/readme.svg
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stylesOf } from '../packages/lab/src/report/plot-parts.ts'
import type { ScenarioResult } from '../packages/lab/src/report/result.ts'

const RESULT = join(import.meta.dirname, 'results/experiments/burst.json')
const PICTURE = join(import.meta.dirname, '../docs/images/readme.svg')

/** A picture 480 px wide is shown at 328 px on a phone with a width of 360 px. The smallest type is then 13.7 px. */
const [WIDTH, HEIGHT] = [480, 330]
const PLOT = { x: 16, y: 84, w: 448, h: 190 }

type Point = readonly [load: number, goodput: number]

export function readmePicture({ arms, plots }: Pick<ScenarioResult, 'arms' | 'plots'>): string {
  const [plot] = plots
  if (plot?.kind !== 'lines') throw new Error('expected the curves of the burst experiment as the first plot')
  const styles = stylesOf(arms)
  const armOf = (kind: string) => {
    const at = arms.findIndex(arm => arm.kind === kind)
    const points = plot.series.find(({ arm }) => arm === arms[at]?.name)?.points
    if (points === undefined) throw new Error(`the burst experiment has no ${kind} arm`)
    return { style: styles[at]!, points: points.map(([load, goodput]): Point => [load, goodput ?? 0]) }
  }
  const { points: bare, style: bareStyle } = armOf('bare')
  const { points: guarded, style: guardedStyle } = armOf('protected')
  const colours = (scheme: 'light' | 'dark'): string =>
    Object.entries({ bare: bareStyle[scheme], guarded: guardedStyle[scheme] })
      .map(([name, colour]) => `polyline.${name}{stroke:${colour}}circle.${name},text.${name}{fill:${colour}}`)
      .join('')
  const loads = guarded.map(([load]) => load)
  const [least, most] = [Math.log2(loads[0]!), Math.log2(loads.at(-1)!)]
  const top = Math.max(...guarded.map(([, goodput]) => goodput))
  const x = (load: number): string =>
    (PLOT.x + 14 + ((PLOT.w - 40) * (Math.log2(load) - least)) / (most - least)).toFixed(1)
  const y = (goodput: number): string => (PLOT.y + PLOT.h - (PLOT.h * goodput) / (top * 1.05)).toFixed(1)
  const curve = (style: string, points: readonly Point[]): string =>
    `<polyline class="${style}" points="${points.map(([load, goodput]) => `${x(load)},${y(goodput)}`).join(' ')}"/>` +
    points.map(([load, goodput]) => `<circle class="${style}" cx="${x(load)}" cy="${y(goodput)}" r="6"/>`).join('')
  const [kept, left] = [guarded.at(-1)![1], bare.at(-1)![1]]
  // The label covers the last two points.
  const nameY = Math.min(...guarded.slice(-2).map(([, goodput]) => Number(y(goodput)))) - 16
  const says = (load: number): string => (load === 0.5 ? '½×' : `${load}×`)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img"><title>At ${loads.at(-1)} times its capacity a Node server answers ${Math.round(left)} requests a second in time, with meltproof ${Math.round(kept)}</title>
<style>
text{font-family:system-ui,-apple-system,"Segoe UI","Helvetica Neue",Arial,sans-serif;font-size:20px;fill:#24292f}
.paper{fill:#fff}.title{font-size:23px;font-weight:650}.line{stroke:#8c959f;stroke-width:1.5}
polyline{fill:none;stroke-width:5;stroke-linejoin:round;stroke-linecap:round}.name{font-weight:650}
${colours('light')}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117}.line{stroke:#6e7681}${colours('dark')}}
</style>
<rect class="paper" width="${WIDTH}" height="${HEIGHT}" rx="8"/>
<text class="title" x="${PLOT.x}" y="36">Answered in time, per second</text>
<line class="line" x1="${PLOT.x}" x2="${PLOT.x + PLOT.w}" y1="${PLOT.y + PLOT.h}" y2="${PLOT.y + PLOT.h}"/>
${curve('bare', bare)}
${curve('guarded', guarded)}
<text class="guarded name" x="${PLOT.x + PLOT.w}" y="${nameY}" text-anchor="end">meltproof ${Math.round(kept)}</text>
<text class="bare name" x="${PLOT.x + PLOT.w}" y="${Number(y(left)) - 16}" text-anchor="end">plain Node ${Math.round(left)}</text>
${loads.map(load => `<text x="${x(load)}" y="${HEIGHT - 30}" text-anchor="middle">${says(load)}</text>`).join('')}
<text x="${WIDTH / 2}" y="${HEIGHT - 6}" text-anchor="middle">load, in multiples of the capacity</text>
</svg>
`
}

if (import.meta.main) {
  writeFileSync(PICTURE, readmePicture(JSON.parse(readFileSync(RESULT, 'utf8')) as ScenarioResult))
}
