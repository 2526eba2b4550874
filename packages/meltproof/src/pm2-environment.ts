/** PM2's cluster mode sets the variables of an app after `--import` has run. Until then they stand in one variable. */

const OURS = /^MELTPROOF(?:_|$)/
const UNTIL_THEN = 'pm2_env'

export function environmentUnderPm2(environment: Readonly<NodeJS.ProcessEnv>): Readonly<NodeJS.ProcessEnv> {
  try {
    const given = JSON.parse(environment[UNTIL_THEN] ?? '{}') as object
    const ours = Object.entries(given).filter(([name]) => OURS.test(name))
    return { ...environment, ...Object.fromEntries(ours.map(([name, value]) => [name, String(value)])) }
  } catch {
    return environment
  }
}

export function isBeforePm2(environment: Readonly<NodeJS.ProcessEnv>): boolean {
  return environment[UNTIL_THEN] !== undefined
}
