/**
 * The report of a run: one HTML page that needs nothing else, online or off. Pure: result and assets in, text out. What
 * can be said without a script (finding, table, conditions) is in the markup; assets/report.js draws the plots from the
 * data embedded in the page.
 */
import { escapeText, scriptJson } from './escape.ts'
import { finding } from './finding.ts'
import {
  formatChosen,
  formatCount,
  formatMegabytes,
  formatMs,
  formatMultiple,
  formatPercent,
  formatRate,
} from './format.ts'
import { stylesOf } from './palette.ts'
import type { MeltResult, Row } from './result.ts'
import { curveSvg } from './svg.ts'

/** Texts of the files the page is made of. */
export interface ReportAssets {
  readonly uplotJs: string
  readonly uplotCss: string
  readonly pageJs: string
  readonly pageCss: string
}

/** uPlot asks Intl for the browser's language as it loads, and a headless browser under LANG=C names one Intl refuses. */
const languageGuard =
  "try{new Intl.NumberFormat(navigator.language)}catch{Object.defineProperty(navigator,'language',{value:'en'})}"

export function htmlReport(result: MeltResult, assets: ReportAssets): string {
  const styles = stylesOf(result.arms)
  const colours = (theme: 'light' | 'dark'): string => styles.map((each, at) => `--arm${at}:${each[theme]}`).join(';')
  const title = finding(result)
  const measured = result.capacity !== null && result.rows.length > 0
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeText(result.name)}: ${escapeText(title)}</title>
<link rel="icon" href="data:,">
<style>${assets.uplotCss}</style>
<style>${assets.pageCss}
:root{${colours('light')}}
@media (prefers-color-scheme:dark){:root{${colours('dark')}}}
</style>
</head>
<body>
<main>
<header>
<p class="eyebrow">meltlab melt <span>·</span> ${escapeText(result.name)} <span>·</span> ${escapeText(result.startedAt.slice(0, 10))} ${badge(result)}</p>
<h1>${escapeText(title)}</h1>
${measured ? lede(result) : ''}
</header>
${doubts(result)}
${measured ? cards(result) + plots(result) + table(result) : ''}
${conditions(result)}
</main>
<script type="application/json" id="result">${scriptJson(forThePage(result))}</script>
<script>${languageGuard}</script>
<script>${assets.uplotJs}</script>
<script>${assets.pageJs}</script>
</body>
</html>
`
}

/** What the plots need, and no more. */
function forThePage(result: MeltResult): unknown {
  const styles = stylesOf(result.arms)
  return {
    capacity: result.capacity,
    sloMs: result.conditions.sloMs,
    window: result.conditions.window,
    arms: result.arms.map((arm, at) => ({ name: arm.name, dash: styles[at]!.dash, mark: styles[at]!.mark })),
    rows: result.rows,
    steps: result.steps
      .filter(step => step.round === 1)
      .map(({ arm, multiple, seconds, memory }) => ({ arm, multiple, seconds, memory })),
  }
}

function badge(result: MeltResult): string {
  if (result.incomplete) return '<b class="badge doubt">incomplete</b>'
  return result.certified ? '<b class="badge sure">certified</b>' : '<b class="badge doubt">not certified</b>'
}

function lede(result: MeltResult): string {
  const { sloMs, window } = result.conditions
  const { rate } = result.capacity!
  return (
    `<p class="lede">The app can do ${formatRate(rate)} requests a second. Each arm was started cold and offered multiples of that, ` +
    `whatever it did. <b>Goodput</b> is what users get: answers 2xx/3xx complete within ${formatChosen(sloMs)}, counted from ` +
    `the moment each request was due, in seconds ${window.from} to ${window.to} of each step.</p>`
  )
}

function doubts(result: MeltResult): string {
  if (result.why.length === 0) return ''
  const items = (reasons: readonly string[]): string =>
    `<ul>${reasons.map(reason => `<li>${escapeText(reason)}</li>`).join('')}</ul>`
  // A lab that could not keep up has much to say, and the finding should stay in sight.
  const most = 4
  const rest = result.why.slice(most)
  const more = rest.length === 0 ? '' : `<details><summary>${rest.length} more</summary>${items(rest)}</details>`
  const title = result.incomplete ? 'Why this run is incomplete' : 'Why this run is not certified'
  return `<section class="doubts"><h2>${title}</h2>${items(result.why.slice(0, most))}${more}</section>`
}

/** One card per arm, at the highest load: the legend and the punch line in one. */
function cards(result: MeltResult): string {
  const highest = Math.max(...result.rows.map(row => row.multiple))
  const made = result.arms.map((arm, at) => {
    const row = result.rows.find(each => each.arm === arm.name && each.multiple === highest)
    if (row === undefined) return ''
    return `<article style="--arm:var(--arm${at})">
<h2>${swatch(at)}${escapeText(arm.name)}<small>at ${formatMultiple(highest)}, ${formatRate(row.offered)}/s</small></h2>
<p class="figure">${formatRate(row.goodput)}<small>good/s, ${formatPercent(row.ofCapacity)} of capacity</small></p>
<p class="aside">${cardAside(row, result.conditions.sloMs)}</p>
</article>`
  })
  return `<section class="cards">${made.join('\n')}</section>`
}

function cardAside(row: Row, sloMs: number): string {
  const parts = [row.admittedMs.p99 === null ? 'no request was served' : `admitted p99 ${formatMs(row.admittedMs.p99)}`]
  if (row.shed > 0) parts.push(`${formatRate(row.shed)}/s shed, p99 ${formatMs(row.shedMs.p99)}`)
  const unserved = row.late + row.shedLate + row.failed + row.unsent + row.otherStatus
  parts.push(
    unserved < 0.05
      ? `every request answered within ${formatChosen(sloMs)}`
      : `${formatRate(unserved)}/s answered late, failed or not answered`,
  )
  return parts.map(escapeText).join('<br>')
}

function swatch(at: number): string {
  return `<i class="swatch" data-arm="${at}"></i>`
}

function plots(result: MeltResult): string {
  const multiples = [...new Set(result.rows.map(row => row.multiple))]
  const buttons = multiples
    .map(multiple => `<button type="button" data-multiple="${multiple}">${formatMultiple(multiple)}</button>`)
    .join('')
  return `
<section class="plot hero"><h2>Goodput against offered load</h2>
<p>Answers per second within ${formatChosen(result.conditions.sloMs)}. The dotted line is the ideal: all of the load up to the capacity, and the capacity beyond.</p>
<div class="chart" id="goodput"><noscript>${curveSvg(result)}</noscript></div></section>
<div class="pair">
<section class="plot"><h2>Latency of admitted requests</h2>
<p>p99 of answers 2xx/3xx, log scale. The dashed line is the SLO.</p>
<div class="chart" id="latency"></div></section>
<section class="plot"><h2>Errors</h2>
<p>Share of requests answered after ${formatChosen(result.conditions.sloMs)}, with an error, or not at all. A prompt refusal (503) is honest and not counted.</p>
<div class="chart" id="errors"></div></section>
</div>
<section class="plot over-time"><h2>Over time <span class="choice" role="group" aria-label="Load">${buttons}</span></h2>
<p>Second by second from the cold start${result.conditions.rounds > 1 ? ', first round' : ''}; a request belongs to the second in which it was due.</p>
<div class="quad">
<div><h3>Goodput, /s</h3><div class="chart" id="time-goodput"></div></div>
<div><h3>Latency p99</h3><div class="chart" id="time-latency"></div></div>
<div><h3>Errors, /s</h3><div class="chart" id="time-errors"></div></div>
<div><h3>Memory (rss), MB</h3><div class="chart" id="time-memory"></div></div>
</div></section>`
}

const columns: readonly { readonly title: string; readonly of: (row: Row) => string }[] = [
  { title: 'load', of: row => formatMultiple(row.multiple) },
  { title: 'offered /s', of: row => formatRate(row.offered) },
  { title: 'goodput /s', of: row => formatRate(row.goodput) },
  { title: 'of capacity', of: row => formatPercent(row.ofCapacity) },
  { title: 'admitted p50', of: row => formatMs(row.admittedMs.p50) },
  { title: 'admitted p99', of: row => formatMs(row.admittedMs.p99) },
  { title: 'shed /s', of: row => formatRate(row.shed) },
  { title: 'shed p99', of: row => formatMs(row.shedMs.p99) },
  { title: 'answered late /s', of: row => formatRate(row.late + row.shedLate) },
  { title: 'connection errors and timeouts', of: row => formatCount(row.errors) },
  { title: 'longest answer', of: row => formatMs(row.longestAnswerMs) },
  { title: 'peak rss', of: row => formatMegabytes(row.peakRssBytes) + (row.died ? ', died' : '') },
]

function table(result: MeltResult): string {
  const head = columns.map(column => `<th scope="col">${column.title}</th>`).join('')
  const bodies = result.arms.map((arm, at) => {
    const rows = result.rows.filter(row => row.arm === arm.name)
    return rows
      .map((row, i) => {
        const name =
          i === 0
            ? `<th scope="rowgroup" rowspan="${rows.length}" style="--arm:var(--arm${at})">${swatch(at)}${escapeText(arm.name)}</th>`
            : ''
        return `<tr>${name}${columns.map(column => `<td>${column.of(row)}</td>`).join('')}</tr>`
      })
      .join('\n')
  })
  const { rounds } = result.conditions
  return `<section class="table"><h2>Figures</h2><p>${rounds === 1 ? 'One round.' : `Medians of ${rounds} rounds.`}</p><div class="scroll"><table>
<thead><tr><th scope="col">arm</th>${head}</tr></thead>
${bodies.map(body => `<tbody>${body}</tbody>`).join('\n')}
</table></div></section>`
}

function conditions(result: MeltResult): string {
  const c = result.conditions
  const { capacity } = result
  const facts: [string, string][] = [
    ['Repeat it', `<code>${escapeText(c.commandLine)}</code>`],
    ...result.arms.map((arm): [string, string] => [
      arm.name,
      `<code>${arm.nodeOptions === null ? '' : `NODE_OPTIONS='${escapeText(arm.nodeOptions)}' `}${escapeText(arm.command)}</code>`,
    ]),
  ]
  if (capacity !== null) {
    const after = capacity.after === null ? 'not measured again' : `${formatRate(capacity.after)}/s after`
    const drift = capacity.drift === null ? '' : `, drift ${(capacity.drift * 100).toFixed(1)} %`
    facts.push([
      'Capacity',
      `peak goodput of the bare app: ${formatRate(capacity.before)}/s before, ${after}${drift}; closed loop, ${capacity.users} concurrent`,
    ])
  }
  facts.push(
    [
      'Request',
      `${escapeText(c.request)}; ${c.spacing === 'even' ? 'evenly spaced arrivals' : 'Poisson arrivals'}, open loop`,
    ],
    ['Connections', `${escapeText(c.connections)}; a request times out after ${formatChosen(c.timeoutMs)}`],
    [
      'Steps',
      `${formatChosen(c.durationMs)} each from a cold start, figures of seconds ${c.window.from} to ${c.window.to}`,
    ],
    [
      'Cores',
      c.pinning === null
        ? 'not pinned: the server and the lab shared them'
        : `the server on core ${c.pinning.server}, the lab on core ${c.pinning.lab}` +
          (c.busyBefore === null
            ? ''
            : `; ${formatPercent(c.busyBefore.server)} and ${formatPercent(c.busyBefore.lab)} busy in the second before the run`),
    ],
    [
      'Machine',
      `${escapeText(c.cpu)}, ${c.cores} cores, ${Math.round(c.memoryBytes / 1e9)} GB, ${escapeText(c.platform)}`,
    ],
    ['Software', `Node ${escapeText(c.node)}, meltlab ${escapeText(c.labVersion)}`],
    ['Date', `${escapeText(result.startedAt)}, ${formatMs(result.elapsedMs)} in all`],
    [
      'Certified',
      result.certified
        ? 'yes: the load was sent when it was due, by a lab that was not the bottleneck, on a machine that stayed steady'
        : 'no; the reasons are on top of this page',
    ],
  )
  return `<section class="conditions"><h2>Conditions</h2><dl>${facts.map(([name, value]) => `<dt>${escapeText(name)}</dt><dd>${value}</dd>`).join('\n')}</dl></section>`
}
