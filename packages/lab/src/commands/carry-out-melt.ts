/** Shared by `melt` and `recover`: checks everything before anything starts, then runs the experiment. */
import { checkProgram } from '../launch/command.ts'
import { registerUrl } from '../launch/register-url.ts'
import { refuseTaken } from '../launch/wait-until-listening.ts'
import type { MeltOptions } from '../melt/options.ts'
import { type MeltExperiment, meltScenario } from '../melt/scenario.ts'
import { progressOn } from '../progress.ts'
import type { Form } from '../report/result.ts'
import { carryOut, type Output } from './carry-out.ts'
import { checkRequest } from './checked-plans.ts'
import { stopOnSignals } from './stop-on-signals.ts'
import { checkWritable } from './user-files.ts'

export async function carryOutMelt(
  experiment: Pick<MeltExperiment, 'title' | 'story' | 'arms' | 'limitsWithinS' | 'dependency' | 'view'>,
  options: MeltOptions,
  form: Form,
  output: Output,
): Promise<void> {
  checkRequest(options)
  for (const { command, kind, name } of experiment.arms) checkProgram(command, kind === 'also' ? name : undefined)
  registerUrl()
  await refuseTaken(options.url)
  checkWritable(output.out, '--out')
  const progress = progressOn(process.stderr)
  const scenario = meltScenario({ ...experiment, name: options.name, published: [], options: () => options })
  await carryOut(scenario, form, output, progress, stopOnSignals(progress))
}
