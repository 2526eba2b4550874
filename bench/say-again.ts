/** Says anew what the committed experiments found, with the words of today, of what was measured then. */
import path from 'node:path'
import { catalogue } from '../packages/lab/src/scenarios/catalogue.ts'
import { sayAgain } from './lib/say-again.ts'

sayAgain(path.join(import.meta.dirname, 'results/experiments'), result =>
  catalogue.find(each => each.name === result.name),
)
