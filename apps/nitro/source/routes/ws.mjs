import { defineWebSocketHandler } from 'h3'

export default defineWebSocketHandler({
  message: (peer, message) => void peer.send(`echo ${message.text()}`),
})
