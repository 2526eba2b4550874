/** `meltlab list`: lists the scenarios for people or as JSON. */
import type { Command } from 'commander'
import { wrapWords } from '../report/wrap-words.ts'
import { catalogue } from '../scenarios/catalogue.ts'

const WIDTH = 80

export function registerList(program: Command): void {
  program
    .command('list')
    .summary('list the scenarios of `meltlab run`')
    .description('Lists the scenarios of `meltlab run`.')
    .option('--json', 'print one JSON document')
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
  const lines = catalogue.map(({ name, story }) =>
    wrapWords(story, WIDTH - width - 2)
      .map((line, at) => `${(at === 0 ? name : '').padEnd(width)}  ${line}`)
      .join('\n'),
  )
  return `${lines.join('\n')}\n\nmeltlab run ${catalogue[0]!.name}          one to five minutes; --full as published, or longer\n`
}
