/** `--import` of the logging scenario: meltproof/stdout alone, so that nothing else of meltproof's is measured. */
import { install } from 'meltproof/stdout'

install()
