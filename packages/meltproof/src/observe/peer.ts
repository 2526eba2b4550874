/** The API of OpenTelemetry, which is an optional peer. */
import { createRequire } from 'node:module'
import { MeltproofError } from '../errors.ts'

export type Api = typeof import('@opentelemetry/api')

const NAME = '@opentelemetry/api'

/** @throws MeltproofError MELTPROOF_PEER_MISSING */
export function openTelemetryApi(load: (id: string) => unknown = installed): Api {
  try {
    return load(NAME) as Api
  } catch (cause) {
    const problem = `meltproof/otel needs the package ${NAME}, which is not installed here: npm install ${NAME}`
    throw new MeltproofError('MELTPROOF_PEER_MISSING', problem, { cause })
  }
}

/** A CommonJS bundle has no `import.meta.url`, but has `__filename`. */
function installed(id: string): unknown {
  return createRequire(import.meta.url ?? __filename)(id)
}
