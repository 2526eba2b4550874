/** `npm run figures`: its plan, and the resumption of a stopped run. No benchmark runs here. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { certify, changedByHand, commitsIn, left, minutesOf, planOf, type State } from '../bench/figures/plan.ts'
import { readState, runSteps } from '../bench/figures/run-steps.ts'
import { BY_HAND, STEPS, type Step } from '../bench/figures/steps.ts'
import { catalogue, scoreboard } from '../packages/lab/src/scenarios/catalogue.ts'

const ROOT = join(import.meta.dirname, '..')
const step = (name: string, more: Partial<Step> = {}): Step => ({
  ...{ name, run: [`echo ${name} >> ran`], results: [], pages: [], minutes: 1, ...more },
})
const some = [step('build', { always: true }), step('one'), step('two'), step('far', { whyExcluded: 'virtual' })]
const at = (steps: State['steps'], commit = 'abc'): State => ({ commit, steps })
const begun = '2026-11-27T12:00:00.000Z'
const todos = (state: State, choice = {}) => planOf(some, state, 'abc', choice).map(({ todo }) => todo)

describe('the plan of npm run figures', () => {
  test('runs all steps except those that are excluded', () => {
    assert.deepEqual(todos(at({})), ['run', 'run', 'run', 'excluded'])
    assert.deepEqual(todos(at({}), { all: true }), ['run', 'run', 'run', 'run'])
  })

  test('skips steps completed at this commit, and resumes an interrupted one', () => {
    assert.deepEqual(todos(at({ one: { begun, tookS: 3 }, two: { begun } })), ['run', 'done', 'resume', 'excluded'])
  })

  test('starts again at another commit', () => {
    assert.deepEqual(todos(at({ one: { begun, tookS: 3 } }, 'def')), ['run', 'run', 'run', 'excluded'])
  })

  test('leaves out the steps that always run when no other step is left', () => {
    const ended = at({ one: { begun, tookS: 3 }, two: { begun, tookS: 3 } })
    assert.deepEqual(left(planOf(some, ended, 'abc', {})), [])
    assert.deepEqual(todos(ended, { only: ['build'] }), ['run'])
  })

  test('runs the steps named by --only, even if left out by default, and those that always run', () => {
    const names = left(planOf(some, at({}), 'abc', { only: ['far'] })).map(({ name }) => name)
    assert.deepEqual(names, ['build', 'far'])
  })

  test('treats files that no step writes as changes by hand', () => {
    const steps = [step('one', { results: ['bench/results/one.json', 'apps/results/*.json'], pages: ['docs/one.md'] })]
    const porcelain =
      ' M bench/results/one.json\n M apps/results/koa.json\n?? docs/one.md\nR  a.ts -> packages/b.ts\n M docs/two.md\n'
    assert.deepEqual(changedByHand(porcelain, steps), ['packages/b.ts', 'docs/two.md'])
  })

  test('commitsIn() finds the commits in all parts of a result', () => {
    assert.deepEqual(
      commitsIn({ clients: { fetch: { commit: 'a' }, got: { commit: 'b' } }, measured: { commit: 'c' } }),
      ['a', 'b'],
    )
    assert.deepEqual(commitsIn({ conditions: { labVersion: 'b701dba' } }), ['b701dba'])
    assert.deepEqual(commitsIn({ conditions: { labVersion: '0.1.0', commit: 'b701dba9' } }), ['b701dba9'])
    assert.deepEqual(commitsIn({ conditions: { labVersion: '0.1.0' } }), [])
    assert.deepEqual(commitsIn({ checks: { streams: { runtime: 'a' }, sigterm: { runtime: 'a', commit: 'b' } } }), [
      'a',
      'b',
    ])
  })

  test('certifies only what was measured at this commit on a quiet machine', () => {
    const result = { a: { commit: 'abc', loadBefore: 1 }, b: { commit: 'old', loadBefore: 1 } }
    const quiet = { mean: 0.05, worst: 0.2 }
    assert.deepEqual(certify(result, 'abc', quiet, 0.1), {
      a: { commit: 'abc', loadBefore: 1, foreign: quiet, certified: true },
      b: result.b,
    })
    for (const foreign of [{ mean: 0.2, worst: 0.2 }, null]) {
      const { a } = certify(result, 'abc', foreign, 0.1) as { a: { certified: boolean } }
      assert.equal(a.certified, false)
    }
  })
})

describe('the steps of npm run figures', () => {
  test('have distinct names, and the default ones fit in two hours', () => {
    assert.equal(new Set(STEPS.map(({ name }) => name)).size, STEPS.length)
    const minutes = minutesOf(left(planOf(STEPS, at({}), 'abc', {})))
    assert.ok(minutes <= 120, `${minutes} minutes`)
  })

  test('have at least three rounds if their script has rounds', () => {
    assert.deepEqual(
      STEPS.filter(({ rounds = 3 }) => rounds < 3).map(({ name }) => name),
      [],
    )
    const options = STEPS.flatMap(({ run }) => run.flatMap(each => [...each.matchAll(/--(?:idle-)?rounds (\d+)/g)]))
    for (const [, rounds] of options) assert.ok(Number(rounds) >= 3)
  })

  test('name only scripts, results and pages that exist', () => {
    for (const { name, run, results, pages, quotedBy = [] } of STEPS) {
      const scripts = run.flatMap(each => each.match(/bench\/[\w-]+\.ts/g) ?? [])
      for (const path of [...scripts, ...results, ...pages.filter(page => page.endsWith('.md')), ...quotedBy]) {
        assert.ok(globSync(path, { cwd: ROOT }).length > 0, `${name}: ${path}`)
      }
    }
  })

  test('make every committed result, or it is listed with a reason', () => {
    const made = STEPS.flatMap(({ results }) => globSync([...results], { cwd: ROOT }))
    const committed = globSync(['bench/results/**/*.{json,txt}', 'apps/results/*.json'], { cwd: ROOT })
    const others = committed.filter(file => !made.includes(file))
    assert.deepEqual(others.map(file => basename(file)).sort(), Object.keys(BY_HAND).sort())
  })

  test('include every scenario and every published workload of the scoreboard', () => {
    const names = STEPS.map(({ name }) => name)
    for (const { name } of catalogue) assert.ok(names.includes(`experiment-${name}`), name)
    const published = globSync('bench/results/overload/*.json', { cwd: ROOT }).map(file => basename(file, '.json'))
    assert.deepEqual(names.filter(name => name.startsWith('overload-')).sort(), published.sort())
    for (const name of published)
      assert.ok(
        scoreboard.some(each => each.name === name),
        name,
      )
  })
})

describe('a run of npm run figures', () => {
  const folders: string[] = []
  after(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  })
  const placeAt = (commit = 'abc') => {
    const root = mkdtempSync(join(tmpdir(), 'figures-'))
    folders.push(root)
    const said: string[] = []
    const place = {
      ...{ root, stateFile: join(root, 'runs/figures/state.json'), commit, signal: new AbortController().signal },
      say: (line: string) => void said.push(line),
      whyBusy: async (): Promise<string | undefined> => undefined,
    }
    const again = (steps: readonly Step[]) => left(planOf(steps, readState(place.stateFile, commit), commit, {}))
    return { place, said, again, ran: () => readFileSync(join(root, 'ran'), 'utf8').trim().split('\n') }
  }

  test('ends at a step that fails, and the next run continues there without the completed ones', async () => {
    const { place, said, again, ran } = placeAt()
    const fails = 'echo two >> ran; [ -e well ]'
    const steps = [step('one'), step('two', { run: [fails, 'echo three >> ran'], leftovers: ['left'] })]
    writeFileSync(join(place.root, 'left'), 'of another commit')
    await assert.rejects(runSteps(again(steps), place), /two ended with 1/)
    assert.deepEqual(ran(), ['one', 'two'])
    assert.equal(existsSync(join(place.root, 'left')), false)
    // A resumed step keeps its earlier output.
    writeFileSync(join(place.root, 'left'), 'of this commit')
    writeFileSync(join(place.root, 'well'), '')
    await runSteps(again(steps), place)
    assert.deepEqual(ran(), ['one', 'two', 'two', 'three'])
    assert.equal(existsSync(join(place.root, 'left')), true)
    assert.deepEqual(again(steps), [])
    assert.match(said[0]!, /^== one \(1 of 2\), about 1 min of 2 min left$/)
  })

  test('begins no timed step on a machine that is not quiet', async () => {
    const { place, again, ran } = placeAt()
    const steps = [step('virtual', { untimed: true }), step('timed')]
    const busy = { ...place, whyBusy: async () => 'core 1 was 80 % busy' }
    await assert.rejects(runSteps(again(steps), busy), /timed was not begun: core 1 was 80 % busy/)
    assert.deepEqual(ran(), ['virtual'])
    assert.deepEqual(
      again(steps).map(({ name }) => name),
      ['timed'],
    )
  })

  test('records in the result whether the machine was quiet', async () => {
    const { place } = placeAt()
    const result = JSON.stringify({ commit: 'abc', loadBefore: 0.3, us: 12 })
    await runSteps([step('one', { run: [`sleep 1; echo '${result}' > one.json`], results: ['one.json'] })], place)
    const { certified, foreign, us } = JSON.parse(readFileSync(join(place.root, 'one.json'), 'utf8'))
    assert.equal(us, 12)
    assert.equal(certified, foreign !== null && foreign.mean <= 0.1)
  })
})

const skip = existsSync(join(ROOT, '.git')) ? false : 'not a checkout'

test('npm run figures rejects unknown options and steps', { skip }, () => {
  const script = join(ROOT, 'bench/figures.ts')
  const run = (...args: string[]) =>
    spawnSync(process.execPath, ['--no-warnings', script, ...args], { encoding: 'utf8' })
  for (const args of [['--lists'], ['shed-cost'], ['--only', 'shed']])
    assert.equal(run(...args).status, 2, args.join(' '))
  assert.match(run('--help').stdout, /--dry-run/)
  const { status, stdout } = run('--list', '--only', 'shed-cost')
  assert.equal(status, 0)
  assert.match(stdout, /^shed-cost: \w+; 1\.6 min, 3 rounds\n {4}node --no-warnings bench\/shed-cost\.ts --rounds 3$/m)
  assert.match(stdout, /^would publish: docs\/costs\.md docs\/images\/readme\.svg$/m)
  const board = run('--list', '--only', 'scoreboard').stdout
  const published = globSync('bench/results/overload/*.json', { cwd: ROOT })
  assert.equal(board.match(/^overload-[\w-]+: /gm)?.length, published.length)
})
