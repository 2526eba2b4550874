/** Writes the findings of the committed experiments again, from their measurements and with the current wording. */
import path from 'node:path'
import { catalogue } from '../packages/lab/src/scenarios/catalogue.ts'
import { rewriteFindings } from './lib/rewrite-findings.ts'

rewriteFindings(path.join(import.meta.dirname, 'results/experiments'), result =>
  catalogue.find(each => each.name === result.name),
)
