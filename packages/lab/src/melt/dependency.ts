/** The dependency that `recover --dependency` stops: its address, in an environment variable of the app. Pure. */
import { UserError } from '../user-error.ts'

export interface Dependency {
  readonly variable: string
  readonly host: string
  readonly port: number
  /** The variable's value with 127.0.0.1 and this port as the address. */
  readonly valueFor: (port: number) => string
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  ...{ postgres: 5432, postgresql: 5432, mysql: 3306, mariadb: 3306, redis: 6379, mongodb: 27017 },
  ...{ amqp: 5672, nats: 4222, http: 80 },
}
/** With TLS the app would reject the lab's address: the certificate has another name. */
const TLS = /^(?:https|wss|rediss|amqps|mongodb\+srv)$/
const ADDRESS = /^((?:([a-z][\w+.-]*):\/\/(?:[^@/?#]*@)?)?)(\[[^\]]+\]|[^:/?#,@\s]+)(?::(\d+))?((?:[/?#].*)?)$/is

/** `text`: the name of a variable of `env`, or name=value. Errors never show the value, which may hold a password. */
export function dependencyOf(text: string, env: Readonly<Record<string, string | undefined>>): Dependency {
  const [, variable = '', given] = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(text) ?? []
  const wanted = 'a variable with the address of a dependency, such as DATABASE_URL=postgres://127.0.0.1:5432/app'
  if (variable === '') throw new UserError(`--dependency must be ${wanted}`)
  const value = given ?? env[variable]
  if (value === undefined || value === '') {
    throw new UserError(`--dependency ${variable}: ${variable} is not set; set it, or give ${wanted}`)
  }
  const [, before = '', scheme, bracketed, port, after = ''] = ADDRESS.exec(value) ?? []
  if (scheme !== undefined && TLS.test(scheme.toLowerCase())) {
    throw new UserError(
      `--dependency ${variable}: ${scheme} uses TLS, which the relay cannot pass on; use an address without TLS`,
    )
  }
  const number = port === undefined ? DEFAULT_PORTS[scheme?.toLowerCase() ?? ''] : Number(port)
  if (bracketed === undefined || number === undefined || number < 1 || number > 65_535) {
    throw new UserError(`--dependency ${variable}: its value must be one URL with a host, or host:port`)
  }
  return {
    ...{ variable, host: bracketed.replace(/^\[|\]$/g, ''), port: number },
    valueFor: moved => `${before}127.0.0.1:${moved}${after}`,
  }
}
