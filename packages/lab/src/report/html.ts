/** The page of a scenario: one HTML file without scripts or external resources. Pure. */
import { escapeText } from './escape.ts'
import { formatMs, formatPercent } from './format.ts'
import { styled } from './plot-parts.ts'
import { plotSvg } from './plot-svg.ts'
import type { Plot, ScenarioResult, Standing, Table, Verdict } from './result.ts'
import { SIGNS } from './standing.ts'
import { wordy } from './text-table.ts'

export function scenarioHtml(result: ScenarioResult, css: string): string {
  const arms = styled(result.arms)
  const colours = (theme: 'light' | 'dark'): string => arms.map((arm, at) => `--arm${at}:${arm.style[theme]}`).join(';')
  const marks = arms.map(
    (arm, at) => `.${arm.className}{fill:var(--arm${at});stroke:var(--arm${at});color:var(--arm${at})}`,
  )
  const [lead] = result.plots
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeText(result.name)}: ${escapeText(result.finding)}</title>
<link rel="icon" href="data:,">
<style>${css}
:root{${colours('light')}}
@media (prefers-color-scheme:dark){:root{${colours('dark')}}}
${marks.join('')}
</style>
</head>
<body>
<main>
<header>
<p class="eyebrow">meltlab <span>·</span> ${escapeText(result.name)} <span>·</span> ${escapeText(result.title)} <span>·</span> ${result.form} <span>·</span> ${escapeText(result.startedAt.slice(0, 10))}</p>
${badge(result)}
</header>
${strip(result)}
<h1>${escapeText(result.finding)}</h1>
${lead === undefined ? '' : plotSection(lead, result.arms, ['wide', 'narrow'], ' lead')}
<p class="lede">${escapeText(result.story)}</p>
${verdicts(result.verdicts)}
${otherPlots(result)}
${result.tables.map(table => tableSection(table, result)).join('\n')}
${printouts(result)}
${published(result)}
${conditions(result)}
</main>
</body>
</html>
`
}

/** The certification mark. Doubts about the figures are folded below it. */
function badge({ certified, incomplete, why }: ScenarioResult): string {
  if (certified) return '<b class="badge sure">certified</b>'
  const reasons = why.length === 1 ? '1 reason' : `${why.length} reasons`
  const items = why.map(reason => `<li>${escapeText(reason)}</li>`).join('')
  return `<details class="badge doubt"><summary>${incomplete ? 'incomplete' : 'not certified'}: ${reasons}</summary><ul>${items}</ul></details>`
}

function strip({ standings = [], arms }: ScenarioResult): string {
  if (standings.length === 0) return ''
  const card = ({ arm, says, tone, figure, of }: Standing): string => {
    const at = arms.findIndex(each => each.name === arm)
    const size = arms[at]?.kind === 'also' ? ' small' : ''
    return (
      `<li class="card ${tone}${size}" style="--arm:var(--arm${at})"><span class="who">${escapeText(arm)}</span>` +
      `<strong class="says"><span aria-hidden="true">${SIGNS[tone]}</span> ${escapeText(says)}</strong>` +
      `<span class="figure"><b>${escapeText(figure)}</b> ${escapeText(of)}</span></li>`
    )
  }
  return `<ul class="strip" aria-label="The verdict">${standings.map(card).join('\n')}</ul>`
}

const marks: Readonly<Record<Verdict['verdict'], readonly [className: string, sign: string]>> = {
  pass: ['sure', '✓'],
  fail: ['bad', '✗'],
  'not judged': ['unjudged', '–'],
}

function verdicts(all: readonly Verdict[]): string {
  if (all.length === 0) return ''
  const items = all.map(({ name, verdict, measured }) => {
    const [className, sign] = marks[verdict]
    return `<li><b class="${className}" title="${verdict}">${sign}<span> ${verdict}</span></b><div>${escapeText(name)}<small>${escapeText(measured)}</small></div></li>`
  })
  return `<section class="verdicts"><h2>What was expected</h2><ul>${items.join('\n')}</ul></section>`
}

function plotSection(
  plot: Plot,
  arms: ScenarioResult['arms'],
  places: Parameters<typeof plotSvg>[2],
  more = '',
): string {
  const note = plot.note === undefined ? '' : `<p class="note">${escapeText(plot.note)}</p>`
  return `<section class="plot${more}"><h2>${escapeText(plot.title)}</h2>${plotSvg(plot, arms, places)}${note}</section>`
}

/** Folded plots are grouped by heading, in two columns; each is then as wide as a phone. */
function otherPlots({ plots: [, ...others], arms }: ScenarioResult): string {
  const byHeading = Map.groupBy(others, plot => plot.fold)
  return [...byHeading]
    .map(([heading, those]) => {
      if (heading === undefined) {
        return those.map(plot => plotSection(plot, arms, ['wide', 'narrow'])).join('\n')
      }
      const sections = those.map(plot => plotSection(plot, arms, ['narrow'])).join('\n')
      return `<details class="fold"><summary>${escapeText(heading)}</summary><div class="pair">${sections}</div></details>`
    })
    .join('\n')
}

/** On phones the style sheet turns rows into cards, so each cell carries its column's name and a role. */
function tableSection({ title, note, columns, rows }: Table, result: ScenarioResult): string {
  const head = columns.map(column => `<th scope="col" role="columnheader">${escapeText(column)}</th>`).join('')
  const body = rows.map(({ arm, cells }) => {
    const at = result.arms.findIndex(each => each.name === arm)
    const colour = at < 0 ? '' : ` style="color:var(--arm${at})"`
    const [first = '', ...rest] = cells
    // An arm is named only in its first row, but a screen reader needs the name in each.
    const name =
      first === '' && arm !== undefined ? `<span class="unseen">${escapeText(arm)}</span>` : escapeText(first)
    const tds = rest.map((cell, n) => {
      const label = escapeText(columns[n + 1] ?? '')
      return `<td role="cell" data-label="${label}"${cell.length > wordy ? ' class="words"' : ''}>${escapeText(cell)}</td>`
    })
    return `<tr role="row"><th scope="row" role="rowheader"${colour}>${name}</th>${tds.join('')}</tr>`
  })
  return `<section class="table"><h2>${escapeText(title)}</h2>${note === undefined ? '' : `<p>${escapeText(note)}</p>`}<div class="scroll"><table role="table">
<thead role="rowgroup"><tr role="row">${head}</tr></thead>
<tbody role="rowgroup">${body.join('\n')}</tbody>
</table></div></section>`
}

function printouts({ printouts: all = [] }: ScenarioResult): string {
  if (all.length === 0) return ''
  const made = all.map(({ title, text }) => `<div><h3>${escapeText(title)}</h3><pre>${escapeText(text)}</pre></div>`)
  return `<section class="table"><h2>As meltlab attack prints it</h2><div class="printouts">${made.join('\n')}</div></section>`
}

function published(result: ScenarioResult): string {
  if (result.published.length === 0) return ''
  const here = (ours: string | undefined): string => (ours === undefined ? '' : `<br>here: ${escapeText(ours)}`)
  const rows = result.published.map(
    ({ what, value, ours }) => `<dt>${escapeText(what)}</dt><dd>${escapeText(value)}${here(ours)}</dd>`,
  )
  return `<section class="conditions"><h2>What was published</h2><p>On other hardware, with older software: the effect is to be reproduced, not the figure.</p><dl>${rows.join('\n')}</dl></section>`
}

function conditions(result: ScenarioResult): string {
  const c = result.conditions
  const { pinning, foreign } = c
  const facts: [string, string][] = [
    ['Repeat it', `<code>${escapeText(c.commandLine)}</code>`],
    ...result.arms.map((arm): [string, string] => [arm.name, escapeText(arm.what)]),
    [
      'Cores',
      pinning === null
        ? 'not pinned: all processes shared them'
        : `what is measured on core ${pinning.server}, its dependencies on core ${pinning.dependency}, the lab on core ${pinning.lab}`,
    ],
    [
      'Others',
      foreign === null
        ? 'how much others used of these cores is unknown'
        : `used ${formatPercent(foreign.mean)} of a core meanwhile, ${formatPercent(foreign.worst)} at worst`,
    ],
    [
      'Machine',
      `${escapeText(c.cpu)}, ${c.cores} cores, ${Math.round(c.memoryBytes / 1e9)} GB, ${escapeText(c.platform)}`,
    ],
    [
      'Software',
      c.appNode === undefined
        ? `Node ${escapeText(c.node)}, meltlab ${escapeText(c.labVersion)}`
        : `Node ${escapeText(c.appNode.join(' and '))}; meltlab ${escapeText(c.labVersion)} on Node ${escapeText(c.node)}`,
    ],
    ['Date', `${escapeText(result.startedAt)}, ${formatMs(result.elapsedMs)} in all`],
  ]
  return `<section class="conditions"><h2>Conditions</h2><dl>${facts.map(([name, value]) => `<dt>${escapeText(name)}</dt><dd>${value}</dd>`).join('\n')}</dl></section>`
}
