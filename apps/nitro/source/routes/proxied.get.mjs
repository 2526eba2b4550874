// What the upstream says, handed on as it comes.
import { defineEventHandler, getQuery, proxyRequest } from 'h3'

export default defineEventHandler(event => proxyRequest(event, `${process.env.UPSTREAM}${getQuery(event).path}`))
