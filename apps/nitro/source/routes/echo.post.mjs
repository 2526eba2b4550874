import { defineEventHandler, readBody, setResponseStatus } from 'h3'

export default defineEventHandler(async event => {
  setResponseStatus(event, 201)
  return { got: await readBody(event) }
})
