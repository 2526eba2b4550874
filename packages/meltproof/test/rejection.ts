/** What a promise rejects with; a failure of the test when it does not. */
import assert from 'node:assert/strict'

export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  let value: unknown
  try {
    value = await promise
  } catch (error) {
    return error
  }
  return assert.fail(`it did not reject but came to ${JSON.stringify(value)}`)
}
