/** Says for each text that it is sent whether it says it; `each: ` begins one that every process says for itself. */
import { isFirstToSay } from '../../../src/cluster/said.ts'
import { warnEach } from '../../../src/warnings.ts'

const emitted = []
process.emitWarning = text => emitted.push(text)
const says = text => {
  if (!text.startsWith('each: ')) return isFirstToSay(text)
  warnEach(text)
  return emitted.pop() === text
}
process.on('message', texts => process.send(texts.map(says)))
process.on('disconnect', () => process.exit())
process.send([])
