/** Options shared by the commands that start a server: how it is requested, and where results go. */
import type { Command } from 'commander'
import { collect } from '../option-values.ts'

/** Used by `audit`, `melt`, `recover` and `live`. `compare` also takes running servers, so its options differ. */
export const requestOptions = (command: Command): Command =>
  command
    .usage('[options] -- command...')
    .option('--start-timeout <duration>', 'maximum time for the command to start listening', '10s')
    .option('--method <method>', 'request method', 'GET')
    .option('--header <header>', "request header such as 'accept: text/html'; repeatable", collect, [])
    .option('--body <text>', 'request body')
    .option('--insecure', 'the command uses TLS; do not verify its certificate')
    .option('--cacert <file>', 'the command uses TLS; trust this authority (PEM)')
    .option('--json', 'print the result as one JSON document on stdout, and nothing else')

/** Used by `melt`, `recover` and `live`. */
export const appOptions = (command: Command): Command =>
  requestOptions(
    command
      .option('--connections <n>', 'standing keep-alive connections (default: 200 to 1500, by rate)')
      .option('--fresh', 'a new connection for every request')
      .option('--path <path>', 'path to request (default: /)'),
  )
    .option('--name <name>', 'name of the run (default: from the command)')
    .option('--out <dir>', 'folder for results; each run creates a subfolder', 'runs')
