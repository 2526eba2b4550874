/**
 * Checks a value against a JSON Schema, with only the keywords of schema/attack.json: a complete validator, with which
 * a test compares it, would be the lab's largest dependency. Pure.
 */

export interface Schema {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly type?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
  readonly minItems?: number
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly propertyNames?: Schema
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
}

/** The first error, such as `seconds[3].good must be an integer, got "x"`; undefined without errors. */
export function faultOf(value: unknown, root: Schema): string | undefined {
  return fault(value, root, '', root)
}

function fault(value: unknown, schema: Schema, at: string, root: Schema): string | undefined {
  const must = (what: string): string => `${at === '' ? 'it' : at} must be ${what}, got ${shown(value)}`
  if (schema.$ref !== undefined) return fault(value, root.$defs![schema.$ref.slice('#/$defs/'.length)]!, at, root)
  if ('const' in schema && value !== schema.const) return must(JSON.stringify(schema.const))
  if (schema.enum !== undefined && !schema.enum.includes(value)) return must(`one of ${schema.enum.join(', ')}`)
  if (schema.anyOf !== undefined) {
    const faults = schema.anyOf.map(each => fault(value, each, at, root))
    if (faults.includes(undefined)) return undefined
    // Of several allowed forms, the one whose error lies deepest is the nearest.
    return faults.reduce((a, b) => (depth(b!) > depth(a!) ? b : a))
  }
  if (schema.type !== undefined && !isA(value, schema.type)) return must(ARTICLES[schema.type] ?? schema.type)
  if (schema.minimum !== undefined && !((value as number) >= schema.minimum)) return must(`at least ${schema.minimum}`)
  if (schema.maximum !== undefined && !((value as number) <= schema.maximum)) return must(`at most ${schema.maximum}`)
  if (schema.pattern !== undefined && !new RegExp(schema.pattern).test(value as string)) {
    return must(`of the form ${schema.pattern}`)
  }
  if (schema.type === 'array') return faultOfItems(value as readonly unknown[], schema, at, root)
  if (schema.type === 'object') return faultOfMembers(value as Readonly<Record<string, unknown>>, schema, at, root)
  return undefined
}

function faultOfItems(items: readonly unknown[], schema: Schema, at: string, root: Schema): string | undefined {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema
  if (items.length < minItems || items.length > maxItems) {
    return `${at} must hold ${items.length < minItems ? `at least ${minItems}` : `at most ${maxItems}`}, got ${items.length}`
  }
  if (schema.items === undefined) return undefined
  for (const [index, item] of items.entries()) {
    const found = fault(item, schema.items, `${at}[${index}]`, root)
    if (found !== undefined) return found
  }
  return undefined
}

function faultOfMembers(
  members: Readonly<Record<string, unknown>>,
  { properties = {}, required = [], propertyNames, additionalProperties = true }: Schema,
  at: string,
  root: Schema,
): string | undefined {
  const missing = required.find(name => !Object.hasOwn(members, name))
  if (missing !== undefined) return `${at === '' ? 'it' : at} lacks ${missing}`
  for (const [name, value] of Object.entries(members)) {
    const path = at === '' ? name : `${at}.${name}`
    const own = Object.hasOwn(properties, name) ? properties[name]! : additionalProperties
    if (own === false) return `${path} is not known`
    const named = propertyNames && fault(name, propertyNames, `the name ${path}`, root)
    if (named !== undefined) return named
    const found = own === true ? undefined : fault(value, own, path, root)
    if (found !== undefined) return found
  }
  return undefined
}

function isA(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'integer':
      return Number.isInteger(value)
    default:
      return typeof value === type
  }
}

const ARTICLES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  object: 'an object',
  string: 'a text',
}

const depth = (sentence: string): number => sentence.split(' ')[0]!.split(/[.[]/).length

const shown = (value: unknown): string => {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object'
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 60 ? `${text.slice(0, 60)}...` : text
}
