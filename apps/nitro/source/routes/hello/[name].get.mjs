import { defineEventHandler, getQuery, getRouterParam } from 'h3'

export default defineEventHandler(event => ({ name: getRouterParam(event, 'name'), query: getQuery(event) }))
