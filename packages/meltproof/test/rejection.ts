/** Returns the reason with which a promise rejects. Fails the test if it does not reject. */
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
