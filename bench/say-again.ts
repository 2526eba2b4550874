/** Writes the findings of the committed experiments again, from their measurements and with the current wording. */
import path from 'node:path'
import { catalogue } from '../packages/lab/src/scenarios/catalogue.ts'
import { sayAgain } from './lib/say-again.ts'

sayAgain(path.join(import.meta.dirname, 'results/experiments'), result =>
  catalogue.find(each => each.name === result.name),
)
