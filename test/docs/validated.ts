/** Validates blocks that cannot run here, with a validator for their language. Each fault is a sentence. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DockerfileParser } from 'dockerfile-ast'
import { validate as dockerfileProblems } from 'dockerfile-utils'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { parseAllDocuments } from 'yaml'
import { parseTargets } from '../../packages/lab/src/attack/targets-file.ts'
import { ROOT } from './pages.ts'
import { settingFaults, wordsOf } from './shell.ts'

/** A targets file of `meltlab attack`. The contents of its bodies are not checked. */
export function targetsFaults(code: string): string[] {
  try {
    return parseTargets(code, () => new Uint8Array()).length > 0 ? [] : ['no target']
  } catch (error) {
    return [(error as Error).message]
  }
}

export function yamlFaults(code: string): string[] {
  return parseAllDocuments(code).flatMap(document => {
    if (document.errors.length > 0) return document.errors.map(error => error.message)
    const value = document.toJS() as Record<string, unknown>
    if ('groups' in value) return ruleFaults(code)
    if (value['kind'] === 'Deployment') return deploymentFaults(value)
    return ['YAML of a kind that this test does not know']
  })
}

interface Container {
  readonly env?: readonly { readonly name: string; readonly value: string }[]
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[]
  readonly startupProbe?: Probe
  readonly readinessProbe?: Probe
  readonly livenessProbe?: Probe
}

interface Probe {
  readonly httpGet?: { readonly port: string | number }
}

function deploymentFaults(value: object): string[] {
  try {
    new Deployment(value as never).validate()
  } catch (error) {
    return [(error as Error).message]
  }
  const unknown = unknownFields('IDeployment', 'kubernetes-models/apps/v1/Deployment', value)
  if (unknown.length > 0) return unknown
  const { containers } = (value as { spec: { template: { spec: { containers: Container[] } } } }).spec.template.spec
  return containers.flatMap(({ env = [], ports = [], startupProbe, readinessProbe, livenessProbe }) => {
    const probed = [startupProbe, readinessProbe, livenessProbe].flatMap(probe => probe?.httpGet?.port ?? [])
    const there = ports.flatMap(({ name, containerPort }) => [name, containerPort])
    return [
      ...settingFaults(env.map(each => `${each.name}=${each.value}`)),
      ...probed.filter(port => !there.includes(port)).map(port => `no port ${port} to probe`),
    ]
  })
}

/** The validator accepts unknown fields, unlike a cluster. The compiler rejects them in a literal of the type. */
function unknownFields(type: string, from: string, value: object): string[] {
  mkdirSync(join(ROOT, 'runs'), { recursive: true })
  const folder = mkdtempSync(join(ROOT, 'runs/docs-'))
  try {
    const file = join(folder, 'literal.ts')
    writeFileSync(
      file,
      `import type { ${type} } from '${from}'\nexport const literal: ${type} = ${JSON.stringify(value)}\n`,
    )
    const flags = ['--noEmit', '--ignoreConfig', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', '']
    const compiler = join(ROOT, 'node_modules/.bin/tsc')
    const { status, stdout } = spawnSync(compiler, [...flags, file], { encoding: 'utf8' })
    return status === 0 ? [] : [stdout]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Validators that are not installed here. In CI, which installs them, this is a fault. */
export const notInstalled: Set<string> = new Set()

/** promtool checks the rules. */
export function ruleFaults(rules: string): string[] {
  return checked('rules.yml', rules, file => ['promtool', ['check', 'rules', file]])
}

export const promqlFaults = (expression: string): string[] =>
  ruleFaults(JSON.stringify({ groups: [{ name: 'g', rules: [{ record: 'a:b:c', expr: expression }] }] }))

/** systemd checks the unit, with the Node of this machine. */
export function unitFaults(unit: string): string[] {
  const environment = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, words]) => wordsOf(words!))
  const here = unit.replace('/usr/bin/node', process.execPath).replace('WorkingDirectory=/srv/shop\n', '')
  return [
    ...settingFaults(environment),
    ...checked('shop.service', here, file => ['systemd-analyze', ['verify', file]]),
  ]
}

export function dockerfileFaults(code: string): string[] {
  const problems = dockerfileProblems(code, {}).map(({ message }) => String(message))
  const environment = DockerfileParser.parse(code)
    .getENVs()
    .flatMap(each => each.getProperties())
    .map(each => `${each.getName()}=${each.getValue()}`)
  return [...problems, ...settingFaults(environment)]
}

function checked(name: string, text: string, command: (file: string) => [string, string[]]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'meltproof-docs-'))
  try {
    const file = join(folder, name)
    writeFileSync(file, text)
    const [program, args] = command(file)
    const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' })
    if (error !== undefined) {
      notInstalled.add(program)
      return process.env['CI'] === undefined ? [] : [`${program} is missing`]
    }
    return status === 0 && !stderr.includes(name) ? [] : [`${stdout}${stderr}`]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
