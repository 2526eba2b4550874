/** Reads a stored result of `run`, `melt`, `recover` or `live`, and checks the parts that are drawn. */
import type { ScenarioResult } from '../report/result.ts'
import { UserError } from '../user-error.ts'
import { readText } from './user-files.ts'

/** The version that this meltlab writes. */
const VERSION: ScenarioResult['version'] = 1
const LISTS = ['why', 'arms', 'published', 'verdicts', 'tables', 'plots'] as const

/** @throws UserError that says what the file contains instead */
export function readScenario(file: string): ScenarioResult {
  const found = scenarioOf(readText(file), file)
  if (found === undefined) throw new UserError(`${file} is not a result of meltlab run, melt, recover or live`)
  return found
}

/** Undefined for other files. @throws UserError for a result that this meltlab cannot read */
export function scenarioOf(content: string, file: string): ScenarioResult | undefined {
  const result = parsed(content)
  if (result === undefined) return undefined
  if (result.version !== VERSION) {
    throw new UserError(
      `${file} is a result of another version (${String(result.version ?? 'none')}; this meltlab reads ${VERSION}); ` +
        'write its page with the meltlab that measured it, or repeat the run',
    )
  }
  const missing = LISTS.filter(name => !Array.isArray(result[name]))
  if (missing.length > 0) throw new UserError(`${file} is a result without ${missing.join(', ')}; repeat the run`)
  return result as ScenarioResult
}

type Stored = Partial<Omit<ScenarioResult, 'version'>> & { readonly version?: unknown }

function parsed(content: string): Stored | undefined {
  try {
    const found = JSON.parse(content) as Stored | null
    return found?.kind === 'scenario' ? found : undefined
  } catch {
    return undefined
  }
}
