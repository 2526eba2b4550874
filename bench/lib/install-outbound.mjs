/** Loaded before a test file (--import). Bounds all calls of its process, like an app that calls install(). */
import { install } from 'meltproof/outbound'

install(JSON.parse(process.env.OUTBOUND_LIMITS ?? '{}'))
