/** Sends whether it prints for its cluster. */
import { printsForCluster } from '../src/loaded.ts'

process.on('disconnect', () => process.exit())
process.send(printsForCluster())
