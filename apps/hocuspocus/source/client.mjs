// The project's own client, on the server that ORIGIN names.
import { HocuspocusProvider } from '@hocuspocus/provider'
import * as Y from 'yjs'

const PATIENCE_MS = 30_000

/** Resolves when the document is here, and rejects when the token is refused. */
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

/** What the text is once `isThere` says so. */
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
