/** Loaded before a test file (--import): bounds all calls of its process, as an app that calls install() does. */
import { install } from 'meltproof/outbound'

install(JSON.parse(process.env.OUTBOUND_LIMITS ?? '{}'))
