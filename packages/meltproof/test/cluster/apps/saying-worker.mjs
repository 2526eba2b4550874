/** Says for each text that it is sent whether it is the first of its cluster to say it. */
import { isFirstToSay } from '../../../src/cluster/said.ts'

process.on('message', texts => process.send(texts.map(isFirstToSay)))
process.on('disconnect', () => process.exit())
process.send([])
