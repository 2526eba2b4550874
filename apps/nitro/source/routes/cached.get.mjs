import { defineEventHandler } from 'h3'

export default defineEventHandler(() => ({ cached: 'for a minute' }))
