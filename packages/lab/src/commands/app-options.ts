/** The options that commands share which start a server: how it is requested, and where results go. */
import type { Command } from 'commander'
import { collect } from '../option-values.ts'

/** Of `audit`, `melt`, `recover` and `live`. `compare` also takes servers that run, so its options differ. */
export const requestOptions = (command: Command): Command =>
  command
    .option('--start-timeout <duration>', 'time until the command must listen', '10s')
    .option('--method <method>', 'request method', 'GET')
    .option('--header <header>', "request header such as 'accept: text/html'; repeatable", collect, [])
    .option('--body <text>', 'request body')
    .option('--insecure', 'the command uses TLS; do not verify its certificate')
    .option('--cacert <file>', 'the command uses TLS; trust this authority (PEM)')
    .option('--json', 'print the result as one JSON document on stdout, and nothing else')

/** Of `melt`, `recover` and `live`. */
export const appOptions = (command: Command): Command =>
  requestOptions(
    command
      .option('--connections <n>', 'standing keep-alive connections (default: 200 to 1500, by rate)')
      .option('--fresh', 'a new connection for every request')
      .option('--path <path>', 'path to request (default: /)'),
  )
    .option('--name <name>', 'name of the run (default: from the command)')
    .option('--out <dir>', 'folder in which the run gets its own', 'runs')
