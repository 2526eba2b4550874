/** Checks a document against schema/attack.json. Pure except for the schema file. */
import { readFileSync } from 'node:fs'
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import { shortened } from '../words.ts'

const schema = JSON.parse(readFileSync(new URL('../../schema/attack.json', import.meta.url), 'utf8')) as object
const validate = new Ajv2020({ strictTypes: false, verbose: true }).compile(schema)

/** The deepest error, such as `seconds[3].good must be integer, got "x"`; undefined without errors. */
export function faultOf(document: unknown): string | undefined {
  if (validate(document)) return undefined
  // Of several allowed forms, the one whose error lies deepest is the nearest.
  return inWords(validate.errors!.reduce((a, b) => (depth(b) > depth(a) ? b : a)))
}

function inWords({ instancePath, propertyName, message, keyword, params, data }: ErrorObject): string {
  const place =
    instancePath
      .replace(/\/(\d+)(?=\/|$)/g, '[$1]')
      .replaceAll('/', '.')
      .replace(/^\./, '') || 'it'
  const where = propertyName === undefined ? place : `the name of ${place}.${propertyName}`
  switch (keyword) {
    case 'required':
      return `${where} ${message}`
    case 'additionalProperties':
      return `${where} must not have ${params['additionalProperty']}`
    case 'const':
      return `${where} must be ${JSON.stringify(params['allowedValue'])}, got ${shown(data)}`
    case 'enum':
      return `${where} must be one of ${params['allowedValues'].join(', ')}, got ${shown(data)}`
    default:
      return `${where} ${message}, got ${Array.isArray(data) ? `a list of ${data.length}` : shown(data)}`
  }
}

const depth = ({ instancePath }: ErrorObject): number => instancePath.split('/').length

const shown = (value: unknown): string => {
  if (typeof value === 'object' && value !== null) return 'an object'
  return shortened(JSON.stringify(value))
}
