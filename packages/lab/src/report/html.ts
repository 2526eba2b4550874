/** The page of a scenario: one HTML file that needs no script and nothing else, online or off. Pure. */
import { escapeText } from './escape.ts'
import { formatMs, formatPercent } from './format.ts'
import { plotSvg, styled } from './plot-svg.ts'
import { wordy } from './text.ts'
import type { Plot, ScenarioResult, Table, Verdict } from './result.ts'

export function scenarioHtml(result: ScenarioResult, css: string): string {
  const arms = styled(result.arms)
  const colours = (theme: 'light' | 'dark'): string => arms.map((arm, at) => `--arm${at}:${arm.style[theme]}`).join(';')
  const marks = arms.map(
    (arm, at) => `.${arm.className}{fill:var(--arm${at});stroke:var(--arm${at});color:var(--arm${at})}`,
  )
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
<p class="eyebrow">meltlab <span>·</span> ${escapeText(result.name)} <span>·</span> ${escapeText(result.title)} <span>·</span> ${result.form} <span>·</span> ${escapeText(result.startedAt.slice(0, 10))} ${badge(result)}</p>
<h1>${escapeText(result.finding)}</h1>
<p class="lede">${escapeText(result.story)}</p>
</header>
${doubts(result)}
${verdicts(result.verdicts)}
${plots(result)}
${result.tables.map(table => tableSection(table, result)).join('\n')}
${printouts(result)}
${published(result)}
${conditions(result)}
</main>
</body>
</html>
`
}

function badge(result: ScenarioResult): string {
  if (result.incomplete) return '<b class="badge doubt">incomplete</b>'
  return result.certified ? '<b class="badge sure">certified</b>' : '<b class="badge doubt">not certified</b>'
}

function doubts(result: ScenarioResult): string {
  if (result.why.length === 0) return ''
  const items = (reasons: readonly string[]): string =>
    `<ul>${reasons.map(reason => `<li>${escapeText(reason)}</li>`).join('')}</ul>`
  const most = 4
  const rest = result.why.slice(most)
  const more = rest.length === 0 ? '' : `<details><summary>${rest.length} more</summary>${items(rest)}</details>`
  const title = result.incomplete ? 'Why this run is incomplete' : 'Why this run is not certified'
  return `<section class="doubts"><h2>${title}</h2>${items(result.why.slice(0, most))}${more}</section>`
}

const marks: Readonly<Record<Verdict['verdict'], readonly [className: string, sign: string]>> = {
  pass: ['sure', '✓'],
  fail: ['doubt', '✗'],
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

/** Those to be folded come last, all of one heading together. */
function plots({ plots: all, arms }: ScenarioResult): string {
  const section = (plot: Plot): string => {
    const note = plot.note === undefined ? '' : `<p>${escapeText(plot.note)}</p>`
    return `<section class="plot"><h2>${escapeText(plot.title)}</h2>${note}${plotSvg(plot, arms)}</section>`
  }
  const byHeading = Map.groupBy(all, plot => plot.fold)
  return [...byHeading]
    .map(([heading, those]) => {
      const sections = those.map(section).join('\n')
      if (heading === undefined) return sections
      return `<details class="fold"><summary>${escapeText(heading)}</summary><div class="pair">${sections}</div></details>`
    })
    .join('\n')
}

function tableSection({ title, note, columns, rows }: Table, result: ScenarioResult): string {
  const head = columns.map(column => `<th scope="col">${escapeText(column)}</th>`).join('')
  const body = rows.map(({ arm, cells }) => {
    const at = result.arms.findIndex(each => each.name === arm)
    const colour = at < 0 ? '' : ` style="color:var(--arm${at})"`
    const [first, ...rest] = cells.map(escapeText)
    return `<tr><th scope="row"${colour}>${first ?? ''}</th>${rest.map(cell => `<td${cell.length > wordy ? ' class="words"' : ''}>${cell}</td>`).join('')}</tr>`
  })
  return `<section class="table"><h2>${escapeText(title)}</h2>${note === undefined ? '' : `<p>${escapeText(note)}</p>`}<div class="scroll"><table>
<thead><tr>${head}</tr></thead>
<tbody>${body.join('\n')}</tbody>
</table></div></section>`
}

function printouts({ printouts: all = [] }: ScenarioResult): string {
  if (all.length === 0) return ''
  const made = all.map(({ title, text }) => `<div><h3>${escapeText(title)}</h3><pre>${escapeText(text)}</pre></div>`)
  return `<section class="table"><h2>In the words of meltlab attack</h2><div class="printouts">${made.join('\n')}</div></section>`
}

function published(result: ScenarioResult): string {
  if (result.published.length === 0) return ''
  const rows = result.published.map(({ what, value }) => `<dt>${escapeText(what)}</dt><dd>${escapeText(value)}</dd>`)
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
        ? 'not pinned: everything shared them'
        : `what is measured on core ${pinning.server}, its dependencies on core ${pinning.dependency}, the lab on core ${pinning.lab}`,
    ],
    [
      'Others',
      foreign === null
        ? 'what others used of these cores is not known'
        : `used ${formatPercent(foreign.mean)} of a core meanwhile, ${formatPercent(foreign.worst)} at worst`,
    ],
    [
      'Machine',
      `${escapeText(c.cpu)}, ${c.cores} cores, ${Math.round(c.memoryBytes / 1e9)} GB, ${escapeText(c.platform)}`,
    ],
    ['Software', `Node ${escapeText(c.node)}, meltlab ${escapeText(c.labVersion)}`],
    ['Date', `${escapeText(result.startedAt)}, ${formatMs(result.elapsedMs)} in all`],
  ]
  return `<section class="conditions"><h2>Conditions</h2><dl>${facts.map(([name, value]) => `<dt>${escapeText(name)}</dt><dd>${value}</dd>`).join('\n')}</dl></section>`
}
