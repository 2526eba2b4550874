// Streams the answer of the upstream.
import { defineEventHandler, getQuery, proxyRequest } from 'h3'

export default defineEventHandler(event => proxyRequest(event, `${process.env.UPSTREAM}${getQuery(event).path}`))
