/**
 * Draws the plots of a report from the data embedded in its page. Runs in a browser, after uPlot; the page works without
 * it but for the plots. It holds no figures and no words of its own but axis labels.
 */
;(() => {
  const result = JSON.parse(document.getElementById('result').textContent)
  if (result.capacity === null || result.rows.length === 0) return
  const { arms, rows, steps, capacity, sloMs } = result
  const multiples = [...new Set(rows.map(row => row.multiple))].sort((a, b) => a - b)
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const font = '13px system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif'
  const bold = font.replace('13px', '600 13px')

  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
  const armColour = at => colour(`--arm${at}`)

  const grouped = text => text.replace(/\B(?=(\d{3})+(?!\d))/g, ',')
  const rate = value =>
    value == null ? '–' : grouped(value < 99.95 && value % 1 ? value.toFixed(1) : value.toFixed(0))
  const ms = value =>
    value == null
      ? '–'
      : value < 1
        ? `${+value.toFixed(2)} ms`
        : value < 999.5
          ? `${+value.toPrecision(3)} ms`
          : `${+(value / 1000).toPrecision(3)} s`
  const percent = value => (value == null ? '–' : `${+value.toFixed(value < 10 ? 1 : 0)} %`)

  /** The mark of an arm, so that colour is never the only difference. */
  function drawMark(ctx, shape, x, y, r) {
    ctx.beginPath()
    if (shape === 'circle') ctx.arc(x, y, r, 0, 2 * Math.PI)
    else if (shape === 'square') ctx.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8)
    else if (shape === 'triangle') {
      ctx.moveTo(x, y - r * 1.15)
      ctx.lineTo(x + r * 1.15, y + r * 0.9)
      ctx.lineTo(x - r * 1.15, y + r * 0.9)
    } else {
      ctx.moveTo(x, y - r * 1.25)
      ctx.lineTo(x + r * 1.25, y)
      ctx.lineTo(x, y + r * 1.25)
      ctx.lineTo(x - r * 1.25, y)
    }
    ctx.closePath()
    ctx.fill()
  }

  /** Marks on every point, and the arm's name where its line ends, moved apart where they would touch. */
  const marksAndNames = options => u => {
    const { ctx } = u
    const ratio = devicePixelRatio
    const ends = []
    ctx.save()
    for (let at = 0; at < arms.length; at++) {
      const series = u.series.findIndex(each => each.arm === at)
      if (series < 0) continue
      ctx.fillStyle = armColour(at)
      let end
      u.data[series].forEach((value, i) => {
        if (value == null || u.data[0][i] == null) return
        const x = u.valToPos(u.data[0][i], 'x', true)
        const y = u.valToPos(value, 'y', true)
        if (options.marks) drawMark(ctx, arms[at].mark, x, y, 5 * ratio)
        end = { at, y, x: i === u.data[0].length - 1 ? u.bbox.left + u.bbox.width : x }
      })
      if (end) ends.push(end)
    }
    if (options.names) {
      ctx.font = bold.replace('13px', `${13 * ratio}px`)
      ctx.textAlign = 'left'
      ctx.textBaseline = 'middle'
      // A halo, for names that end up across a line.
      ctx.strokeStyle = colour('--card')
      ctx.lineWidth = 4 * ratio
      ctx.lineJoin = 'round'
      const gap = 17 * ratio
      const bottom = u.bbox.top + u.bbox.height
      const names = ends.sort((a, b) => b.y - a.y)
      // Upwards from the bottom, then back down whatever was pushed out at the top.
      for (const [i, end] of names.entries()) end.y = Math.min(end.y, i === 0 ? bottom : names[i - 1].y - gap)
      names.reverse()
      for (const [i, end] of names.entries()) end.y = Math.max(end.y, i === 0 ? u.bbox.top : names[i - 1].y + gap)
      for (const end of names) {
        ctx.fillStyle = armColour(end.at)
        ctx.strokeText(arms[end.at].name, end.x + 12 * ratio, end.y)
        ctx.fillText(arms[end.at].name, end.x + 12 * ratio, end.y)
      }
    }
    ctx.restore()
  }

  /** A horizontal line with a meaning, such as the SLO. */
  const level = (value, name) => u => {
    const y = u.valToPos(value, 'y', true)
    if (y < u.bbox.top || y > u.bbox.top + u.bbox.height) return
    const { ctx } = u
    const ratio = devicePixelRatio
    ctx.save()
    ctx.strokeStyle = ctx.fillStyle = colour('--ideal')
    ctx.lineWidth = 1.5 * ratio
    ctx.setLineDash([6 * ratio, 5 * ratio])
    ctx.beginPath()
    ctx.moveTo(u.bbox.left, y)
    ctx.lineTo(u.bbox.left + u.bbox.width, y)
    ctx.stroke()
    ctx.font = font.replace('13px', `${12 * ratio}px`)
    ctx.textAlign = 'left'
    ctx.textBaseline = 'bottom'
    ctx.fillText(name, u.bbox.left + 6 * ratio, y - 3 * ratio)
    ctx.restore()
  }

  const nameRoom = (() => {
    const ctx = document.createElement('canvas').getContext('2d')
    ctx.font = bold
    return Math.max(...arms.map(arm => ctx.measureText(arm.name).width)) + 22
  })()

  const armSeries = (format, extra) =>
    arms.map((arm, at) => ({
      arm: at,
      label: arm.name,
      stroke: () => armColour(at),
      width: 2.5,
      dash: arm.dash.length ? arm.dash : undefined,
      points: { show: false },
      spanGaps: true,
      value: (_u, value) => format(value),
      ...extra,
    }))

  const yAxis = (format, size) => ({
    size,
    font,
    stroke: () => colour('--soft'),
    grid: { stroke: () => colour('--grid'), width: 1 },
    ticks: { show: false },
    // On a log scale uPlot labels decades only when told to leave the rest blank.
    values: (_u, splits) => splits.map(value => (value == null ? '' : format(value))),
  })

  /** Ticks at the loads that were offered; those too near a neighbour to be read are left out. */
  const loadAxis = () => ({
    size: 44,
    font,
    gap: 6,
    stroke: () => colour('--soft'),
    grid: { show: false },
    ticks: { stroke: () => colour('--faint'), size: 5 },
    splits: u => {
      // Not u.bbox: ticks are asked for before it is known.
      const room = (46 * loads.at(-1)) / Math.max(100, u.width - nameRoom - 70)
      const far = at => kept.every(other => Math.abs(other - at) >= room)
      const kept = []
      // The highest load and the capacity itself are the ones to name.
      for (const multiple of [multiples.at(-1), 1, ...[...multiples].reverse()]) {
        const at = multiple * capacity.before
        if (multiples.includes(multiple) && far(at)) kept.push(at)
      }
      return kept.sort((a, b) => a - b)
    },
    values: (_u, splits) => splits.map(value => `${+(value / capacity.before).toFixed(2)}x\n${rate(value)}/s`),
  })

  const timeAxis = () => ({
    size: 30,
    font,
    stroke: () => colour('--soft'),
    grid: { show: false },
    ticks: { stroke: () => colour('--faint'), size: 5 },
    incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600],
    values: (_u, splits) => splits.map(value => `${value} s`),
  })

  const charts = []

  function chart(id, height, options, data) {
    const box = document.getElementById(id)
    const u = new uPlot(
      {
        width: box.clientWidth,
        height,
        cursor: { points: { size: 9 }, drag: { x: false, y: false } },
        legend: { live: true },
        ...options,
      },
      data,
      box,
    )
    charts.push({ u, box, height })
    return u
  }

  const fromZero = (_u, _min, max) => [0, max > 0 ? max * 1.1 : 1]
  const forArm = (at, of) =>
    multiples.map(multiple => {
      const row = rows.find(each => each.arm === arms[at].name && each.multiple === multiple)
      return row === undefined ? null : of(row)
    })

  // Goodput against offered load. The ideal has a corner at the capacity, which may not be among the loads offered.
  const loads = multiples.map(multiple => multiple * capacity.before)
  const corner = Math.min(capacity.rate, loads.at(-1))
  const idealXs = [...new Set([0, ...loads, corner])].sort((a, b) => a - b)
  const atLoads = values => idealXs.map(x => (loads.includes(x) ? values[loads.indexOf(x)] : undefined))
  const loadScale = { time: false, range: () => [0, loads.at(-1) * 1.02] }
  const loadLabel = {
    label: 'offered',
    value: (_u, value) => (value == null ? '–' : `${rate(value)}/s (${+(value / capacity.before).toFixed(2)}x)`),
  }
  chart(
    'goodput',
    360,
    {
      padding: [12, nameRoom, 0, 0],
      scales: { x: loadScale, y: { range: fromZero } },
      series: [
        loadLabel,
        {
          label: 'ideal',
          stroke: () => colour('--ideal'),
          width: 2,
          dash: [2, 6],
          cap: 'round',
          points: { show: false },
          value: (_u, value) => rate(value),
        },
        ...armSeries(rate, { width: 3.5 }),
      ],
      axes: [loadAxis(), yAxis(rate, 58)],
      hooks: { draw: [marksAndNames({ marks: true, names: true })] },
    },
    [idealXs, idealXs.map(x => Math.min(x, corner)), ...arms.map((_, at) => atLoads(forArm(at, row => row.goodput)))],
  )

  /** A log axis from the decade below the data to above it. */
  const logRange = (_u, min, max) => {
    if (min == null || max == null) return [1, 1000]
    return [10 ** Math.floor(Math.log10(Math.max(min, 0.01))), 10 ** Math.ceil(Math.log10(Math.max(max, sloMs) * 1.05))]
  }
  const decades = () => ({
    ...yAxis(ms, 62),
    filter: decadesOnly,
    grid: { stroke: () => colour('--grid'), width: 1, filter: decadesOnly },
  })
  const decadesOnly = (_u, splits) =>
    splits.map(value => (Number.isInteger(+Math.log10(value).toFixed(6)) ? value : null))

  chart(
    'latency',
    290,
    {
      padding: [12, nameRoom, 0, 0],
      scales: { x: loadScale, y: { distr: 3, range: logRange } },
      series: [loadLabel, ...armSeries(ms)],
      axes: [loadAxis(), decades()],
      hooks: { drawAxes: [level(sloMs, 'SLO')], draw: [marksAndNames({ marks: true, names: true })] },
    },
    [loads, ...arms.map((_, at) => forArm(at, row => row.admittedMs.p99))],
  )

  const unserved = each => each.late + each.shedLate + each.failed + each.unsent + each.otherStatus
  chart(
    'errors',
    290,
    {
      padding: [12, nameRoom, 0, 0],
      scales: { x: loadScale, y: { range: () => [0, 104] } },
      series: [loadLabel, ...armSeries(percent)],
      axes: [loadAxis(), { ...yAxis(percent, 58), splits: () => [0, 25, 50, 75, 100] }],
      hooks: { draw: [marksAndNames({ marks: true, names: true })] },
    },
    [loads, ...arms.map((_, at) => forArm(at, row => (row.offered > 0 ? (100 * unserved(row)) / row.offered : null)))],
  )

  // Over time, for one load at a time.
  const lengthS = result.window.to
  const stepOf = (at, multiple) => steps.find(step => step.arm === arms[at].name && step.multiple === multiple)
  const seconds = Array.from({ length: lengthS }, (_, second) => second)
  function perSecond(multiple, of) {
    return [
      seconds.map(second => second + 0.5),
      ...arms.map((_, at) => {
        const step = stepOf(at, multiple)
        return seconds.map(second => {
          const found = step?.seconds.find(each => each.second === second)
          return found === undefined ? null : of(found)
        })
      }),
    ]
  }
  /** Samples of different arms are taken at different times; they are put on one grid of a quarter second. */
  function memory(multiple) {
    const grid = Array.from({ length: lengthS * 4 + 1 }, (_, i) => i / 4)
    return [
      grid,
      ...arms.map((_, at) => {
        const samples = stepOf(at, multiple)?.memory ?? []
        return grid.map(s => {
          const near = samples.find(sample => Math.abs(sample.atMs / 1000 - s) <= 0.125)
          return near === undefined ? null : near.rssBytes / 1e6
        })
      }),
    ]
  }

  const timeScale = { time: false, range: () => [0, lengthS] }
  const timeLabel = { label: 'time', value: (_u, value) => (value == null ? '–' : `${value} s`) }
  const overTime = (id, format, y, axis, hooks, data) => ({
    data,
    u: chart(
      id,
      210,
      {
        padding: [10, nameRoom, 0, 0],
        scales: { x: timeScale, y },
        series: [timeLabel, ...armSeries(format)],
        axes: [timeAxis(), axis],
        hooks: { ...hooks, draw: [marksAndNames({ marks: false, names: true })] },
      },
      data(multiples.at(-1)),
    ),
  })
  const panels = [
    overTime('time-goodput', rate, { range: fromZero }, yAxis(rate, 58), {}, multiple =>
      perSecond(multiple, each => each.goodput),
    ),
    overTime(
      'time-latency',
      ms,
      { distr: 3, range: logRange },
      decades(),
      { drawAxes: [level(sloMs, 'SLO')] },
      multiple => perSecond(multiple, each => each.admittedP99Ms),
    ),
    overTime('time-errors', rate, { range: fromZero }, yAxis(rate, 58), {}, multiple => perSecond(multiple, unserved)),
    overTime('time-memory', rate, { range: fromZero }, yAxis(rate, 58), {}, memory),
  ]
  const buttons = [...document.querySelectorAll('[data-multiple]')]
  function show(multiple) {
    for (const button of buttons)
      button.setAttribute('aria-pressed', String(Number(button.dataset.multiple) === multiple))
    for (const panel of panels) panel.u.setData(panel.data(multiple))
  }
  for (const button of buttons) button.addEventListener('click', () => show(Number(button.dataset.multiple)))
  show(multiples.at(-1))

  function drawSwatches() {
    for (const swatch of document.querySelectorAll('.swatch')) {
      const canvas = document.createElement('canvas')
      canvas.width = canvas.height = 14 * devicePixelRatio
      const ctx = canvas.getContext('2d')
      ctx.fillStyle = armColour(Number(swatch.dataset.arm))
      drawMark(ctx, arms[Number(swatch.dataset.arm)].mark, canvas.width / 2, canvas.width / 2, 5.5 * devicePixelRatio)
      swatch.replaceChildren(canvas)
    }
  }
  drawSwatches()

  dark.addEventListener('change', () => {
    drawSwatches()
    for (const { u } of charts) u.redraw(false, true)
  })
  new ResizeObserver(() => {
    for (const { u, box, height } of charts) u.setSize({ width: box.clientWidth, height })
  }).observe(document.querySelector('main'))
})()
