/** The output and versions of other load tools, and the verdicts that are judged by them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { wrkRate, wrkScript } from '../../bench/lib/closed-loop.ts'
import { judged } from '../../bench/lib/interval-figures.ts'
import { moduleVersionIn, versionIn } from '../../bench/lib/load-tools.ts'
import { type Judged, outcomeOf } from '../../bench/lib/npm-verdicts-judge.ts'
import { type AppVerdict, notesOf, type Outcome, verdictsPage } from '../../bench/lib/npm-verdicts-page.ts'

describe('the version of a tool', () => {
  test('is not that of Go', () => {
    assert.equal(versionIn('wrk debian/4.1.0-3build1 [epoll] Copyright (C) 2012 Will Glozer'), '4.1.0-3build1')
    assert.equal(versionIn('k6 v0.49.0 (go1.22.1, linux/amd64)'), '0.49.0')
    assert.equal(versionIn('Version: \nCommit: \nRuntime: go1.24.4 linux/amd64\nDate: \n'), undefined)
  })

  test('built by `go install` is that of its module', () => {
    const said = '/root/go/bin/vegeta: go1.24.4\n\tpath\tgithub.com/tsenart/vegeta/v12\n'
    assert.equal(moduleVersionIn(`${said}\tmod\tgithub.com/tsenart/vegeta/v12\tv12.12.0\th1:abc=\n`), '12.12.0')
    assert.equal(moduleVersionIn(`${said}\tmod\tgithub.com/tsenart/vegeta/v12\t(devel)\t\n`), undefined)
    assert.equal(moduleVersionIn(''), undefined)
  })
})

describe('a closed loop of wrk', () => {
  test('counts 2xx and 3xx answers per second', () => {
    const said = 'Running 6s test @ http://127.0.0.1:1/\n  6006 requests in 6.01s, 1.20MB read\n'
    assert.equal(Math.round(wrkRate(said)), 999)
    assert.equal(wrkRate('  120 requests in 1.00m, 1.20MB read\n'), 2)
    assert.equal(wrkRate(`${said}  Non-2xx or 3xx responses: 6006\n`), 0)
    assert.throws(() => wrkRate('unable to connect to 127.0.0.1:1 Connection refused'), /wrk said something else/)
  })

  test('sends the method and the body of a script, whatever bytes it has', () => {
    const read = (lua: string): string =>
      Buffer.from([...lua.matchAll(/\\(\d{3})/g)].map(([, byte]) => Number(byte))).toString()
    const body = '{"query":"{ a }\\n ]]é"}'
    const [method, sent] = wrkScript({ method: 'POST', path: '/', body }).trim().split('\n')
    assert.match(method!, /^wrk\.method = "(\\\d{3})+"$/)
    assert.equal(read(method!), 'POST')
    assert.match(sent!, /^wrk\.body = "(\\\d{3})+"$/)
    assert.equal(read(sent!), body)
    assert.equal(wrkScript({ path: '/' }).includes('wrk.body'), false)
  })
})

test('an interval holds the truth if both have something in common, and contains it if all bounds lie inside', () => {
  const all = (range: readonly [number, number]) => ({ p50: range, p90: range, p99: range })
  const truth = all([1, 2])
  assert.deepEqual(judged(all([1, 2]), truth), { holds: true, contains: true })
  assert.deepEqual(judged(all([1.5, 3]), truth), { holds: true, contains: false })
  assert.deepEqual(judged(all([0, 1.5]), truth), { holds: true, contains: false })
  assert.deepEqual(judged(all([3, 4]), truth), { holds: false, contains: false })
  assert.deepEqual(judged({ ...all([0, 3]), p99: [3, 4] }, truth), { holds: false, contains: false })
})

describe('the verdicts on apps of npm', () => {
  const arm = { vegeta: 200, melt: 0.22, says: 'melts' }
  const verdict: AppVerdict = {
    ...{ date: '2026-11-28', node: 'v24', cpu: 'AMD', cores: 2, loadBefore: 0.1, kernel: '6', commit: 'abc' },
    ...{
      name: 'nestjs',
      app: 'NestJS',
      request: 'GET /',
      tool: 'wrk 4.1.0',
      users: [10, 100],
      closedLoop: [900, 1000],
      melt: 980,
    },
    ...{ bare: arm, protected: { ...arm, says: 'holds' }, finding: '', outcome: 'right' },
  }

  test('name the tool, and the observation in the note', () => {
    const page = verdictsPage({ load: 4, apps: [{ ...verdict, note: 'it stood still' }] })
    assert.match(
      page,
      /\| NestJS \| `GET \/` \| 900 to 1,000\/s, wrk 4\.1\.0, 10 or 100 users \| 980\/s \|.*\| yes \| it stood still \|/,
    )
    assert.match(page, /- NestJS: 2026-11-28, commit abc/)
    const shown = (outcome: Outcome) => verdictsPage({ load: 4, apps: [{ ...verdict, outcome }] })
    assert.match(shown('none'), /\| no verdict \| not looked at \|/)
    assert.match(shown('wrong'), /\*\*no\*\* \| not looked at \|/)
  })

  test('are right within the uncertainty of the other tools', () => {
    const outcome = (changed: Partial<Judged>): Outcome =>
      outcomeOf({
        ...{ closedLoop: [80, 100], melt: 90 },
        ...{ bare: { vegeta: 0, melt: 0, says: 'melts at 4x' } },
        ...{ protected: { vegeta: 88, melt: 0.95, says: 'holds to 4x' } },
        ...changed,
      })
    assert.equal(outcome({}), 'right')
    for (const melt of [73, 109]) assert.equal(outcome({ melt }), 'right')
    for (const melt of [71, 111]) assert.equal(outcome({ melt }), 'wrong')
    // 88/s are 88 % of the largest possible capacity, and 110 % of the smallest.
    assert.equal(outcome({ protected: { vegeta: 88, melt: 0.6, says: 'sags to 60 % at 4x' } }), 'right')
    assert.equal(outcome({ protected: { vegeta: 88, melt: 0.4, says: 'melts at 4x' } }), 'wrong')
    assert.equal(outcome({ bare: { vegeta: 0, melt: 0.6, says: 'sags to 60 % at 4x' } }), 'wrong')
    assert.equal(outcome({ bare: { vegeta: 0, melt: 0, says: 'no verdict' } }), 'none')
  })

  test('accept notes only for apps that have a verdict', () => {
    assert.deepEqual([...notesOf(['nestjs: it stood still: at 4x'], ['nestjs'])], [['nestjs', 'it stood still: at 4x']])
    assert.throws(() => notesOf(['koa: well'], ['nestjs']), /koa, which has no verdict/)
    for (const note of ['nestjs', 'nestjs:', ': well']) assert.throws(() => notesOf([note], ['nestjs']), /app: text/)
  })
})
