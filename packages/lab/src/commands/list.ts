/** `meltlab list`: the scenarios there are, for people and as JSON. */
import type { Command } from 'commander'
import { catalogue } from '../scenarios/catalogue.ts'

export function registerList(program: Command): void {
  program
    .command('list')
    .description('list the scenarios that `meltlab run` can carry out')
    .option('--json', 'as one JSON document')
    .action((options: { readonly json?: true }) => {
      process.stdout.write(options.json === true ? `${JSON.stringify(listed())}\n` : listText())
    })
}

function listed(): unknown {
  return catalogue.map(({ name, title, story, published, expects }) => ({
    name,
    title,
    story,
    published,
    expects: expects.map(each => each.name),
  }))
}

function listText(): string {
  const width = Math.max(...catalogue.map(({ name }) => name.length))
  const lines = catalogue.map(({ name, story }) => `${name.padEnd(width)}  ${story}`)
  return `${lines.join('\n')}\n\nmeltlab run ${catalogue[0]!.name}          about a minute; --full as published, or longer\n`
}
