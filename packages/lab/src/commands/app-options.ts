/** The options that `melt`, `recover` and `live` share: how the command is requested, and where results go. */
import type { Command } from 'commander'
import { collect } from '../option-values.ts'

export const appOptions = (command: Command): Command =>
  command
    .option('--connections <n>', 'standing keep-alive connections (default: 200 to 1500, by rate)')
    .option('--fresh', 'a new connection for every request')
    .option('--start-timeout <duration>', 'time until the command must listen', '10s')
    .option('--path <path>', 'path to request (default: /)')
    .option('--method <method>', 'request method', 'GET')
    .option('--header <header>', "request header such as 'accept: text/html'; repeatable", collect, [])
    .option('--body <text>', 'request body')
    .option('--insecure', 'the command uses TLS; do not verify its certificate')
    .option('--cacert <file>', 'the command uses TLS; trust this authority (PEM)')
    .option('--name <name>', 'name of the run (default: from the command)')
    .option('--out <dir>', 'folder in which the run gets its own', 'runs')
    .option('--json', 'print the result as one JSON document on stdout, and nothing else')
