/**
 * `--import` of the logging scenario: installs only meltproof/stdout, so that no other part of meltproof is measured.
 */
import { install } from 'meltproof/stdout'

install()
