/** The main paths give the same answers with meltproof as without. */
import { hideDifferencesOfTheApp, answersOf } from './answers.ts'
import type { Check } from './check.ts'

export const sameAnswers: Check = async subject => {
  const bare = await answersOf(subject, 'bare')
  const register = await answersOf(subject, 'register')
  return hideDifferencesOfTheApp(bare, register, () => answersOf(subject, 'bare'))
}
