/** Decides which steps are left, and which figures are older than the code. Pure: it opens and runs nothing. */
import { matchesGlob } from 'node:path'
import type { Step } from './steps.ts'

/** State of the steps at one commit. */
export interface State {
  readonly commit: string
  readonly steps: Readonly<Record<string, StepState>>
}

export interface StepState {
  /** ISO 8601. */
  readonly begun: string
  /** Missing if the step was interrupted or failed. */
  readonly tookS?: number
}

export interface Planned {
  readonly step: Step
  readonly todo: 'run' | 'resume' | 'done' | 'excluded'
}

export interface Choice {
  readonly only?: readonly string[]
  readonly all?: boolean
}

/** `only` takes the named steps and those that always run. The state of another commit is ignored. */
export function planOf(steps: readonly Step[], state: State, commit: string, { only, all = false }: Choice): Planned[] {
  const known = state.commit === commit ? state.steps : {}
  const chosen = only === undefined ? steps : steps.filter(({ name, always }) => always || only.includes(name))
  const todoOf = (step: Step): Planned['todo'] => {
    if (step.whyExcluded !== undefined && !all && only === undefined) return 'excluded'
    if (step.always) return 'run'
    const { begun, tookS } = known[step.name] ?? {}
    return tookS !== undefined ? 'done' : begun !== undefined ? 'resume' : 'run'
  }
  const plan = chosen.map(step => ({ step, todo: todoOf(step) }))
  const isWanted = ({ step, todo }: Planned): boolean =>
    step.always ? only?.includes(step.name) === true : todo === 'run' || todo === 'resume'
  // Steps that always run produce nothing new when no other step is left.
  return plan.some(isWanted) ? plan : plan.map(each => (each.step.always ? { ...each, todo: 'done' } : each))
}

export const left = (plan: readonly Planned[]): Step[] =>
  plan.filter(({ todo }) => todo === 'run' || todo === 'resume').map(({ step }) => step)

export const minutesOf = (steps: readonly Step[]): number => steps.reduce((sum, { minutes }) => sum + minutes, 0)

/** Paths of `git status --porcelain` that no step writes. With such changes, the figures would belong to no commit. */
export function changedByHand(porcelain: string, steps: readonly Step[]): string[] {
  const written = steps.flatMap(({ results, pages }) => [...results, ...pages])
  return porcelain
    .split('\n')
    .filter(line => line !== '')
    .map(line => line.slice(3).replace(/^.* -> /, ''))
    .filter(path => !written.some(pattern => matchesGlob(path, pattern)))
}

/**
 * The commits that a result names: for the whole, for its parts, or for the cells of an app. Empty for older results.
 */
export function commitsIn(result: unknown): string[] {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return []
  const { commit, conditions, runtime } = result as Record<string, unknown>
  // Older results of the scoreboard name their commit as the lab's version.
  const { labVersion } = (conditions ?? {}) as { labVersion?: string }
  const older = labVersion !== undefined && /^[0-9a-f]{7,}$/.test(labVersion) ? labVersion : undefined
  const own = [commit ?? runtime, older].filter(each => typeof each === 'string')
  const isMeasured = (key: string): boolean => key !== 'measured'
  const parts = Object.entries(result).flatMap(([key, part]) => (isMeasured(key) ? commitsIn(part) : []))
  return [...new Set([...own, ...parts])]
}

/**
 * Returns a copy in which each part that was measured at this commit states whether the machine was quiet during it.
 */
export function certify(
  result: unknown,
  commit: string,
  foreign: { mean: number; worst: number } | null,
  most: number,
) {
  const isOurs = (part: unknown): part is object =>
    typeof part === 'object' && part !== null && 'loadBefore' in part && 'commit' in part && part.commit === commit
  return JSON.parse(JSON.stringify(result), (_, part) =>
    isOurs(part) ? { ...part, foreign, certified: foreign !== null && foreign.mean <= most } : part,
  ) as unknown
}
