import { defineEventHandler } from 'h3'

export default defineEventHandler(() => '<h1>Nitro says hello</h1>')
