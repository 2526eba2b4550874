// Uses Hocuspocus's own client to connect to the server at ORIGIN.
import { HocuspocusProvider } from '@hocuspocus/provider'
import * as Y from 'yjs'

const PATIENCE_MS = 30_000

/** Resolves when the document is synchronised, and rejects when the token is refused. */
export function open(name, token = 'secret') {
  const document = new Y.Doc()
  return new Promise((resolve, reject) => {
    const provider = new HocuspocusProvider({
      url: process.env.ORIGIN.replace('http', 'ws'),
      name,
      document,
      token,
      onSynced: () => resolve({ text: document.getText('content'), document, provider }),
      onAuthenticationFailed({ reason }) {
        provider.destroy()
        reject(new Error(reason))
      },
    })
  })
}

/** Resolves with the text once `isThere` accepts it, and rejects after PATIENCE_MS. */
export function until(text, isThere) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`it did not come in ${PATIENCE_MS} ms`)), PATIENCE_MS)
    const look = () => {
      const words = text.toString()
      if (!isThere(words)) return
      clearTimeout(timer)
      text.unobserve(look)
      resolve(words)
    }
    text.observe(look)
    look()
  })
}
