/** Keeps unacknowledged positions in IndexedDB, where they survive a reload, a crash and a day without signal. */

/** Maximum number of positions, about 27 hours of walking. Beyond it the oldest are deleted. */
const MOST = 100_000

/** @typedef {{ at: number, lat: number, lon: number, accuracy: number }} Fix */
/** @typedef {Fix & { seq: number }} Kept */

/** @returns {Promise<Outbox>} */
export async function openOutbox(name = 'human-tide') {
  const request = indexedDB.open(name, 1)
  request.onupgradeneeded = () => {
    // Removing positions does not reset the count: no number is used twice, so the server recognises a resend.
    request.result.createObjectStore('positions', { keyPath: 'seq', autoIncrement: true })
    request.result.createObjectStore('settings')
  }
  return new Outbox(await settled(request))
}

export class Outbox {
  /** @type {IDBDatabase} */
  #db

  /** @param {IDBDatabase} db */
  constructor(db) {
    this.#db = db
  }

  /** @param {Fix} fix */
  async keep(fix) {
    const store = this.#store('positions', 'readwrite')
    store.add(fix)
    const count = await settled(store.count())
    if (count > MOST) {
      const tooMany = await settled(store.getAllKeys(undefined, count - MOST))
      store.delete(IDBKeyRange.upperBound(tooMany.at(-1)))
    }
    await done(store)
  }

  /** @returns {Promise<Kept[]>} positions with a seq above `after`, oldest first */
  oldest(count = 100, after = 0) {
    return settled(this.#store('positions').getAll(IDBKeyRange.lowerBound(after, true), count))
  }

  /** @param {readonly number[]} seqs */
  async remove(seqs) {
    const store = this.#store('positions', 'readwrite')
    for (const seq of seqs) store.delete(seq)
    await done(store)
  }

  /** @returns {Promise<number>} */
  count() {
    return settled(this.#store('positions').count())
  }

  /** @param {string} name */
  get(name) {
    return settled(this.#store('settings').get(name))
  }

  /** @param {string} name @param {unknown} value */
  async set(name, value) {
    const store = this.#store('settings', 'readwrite')
    store.put(value, name)
    await done(store)
  }

  /** Deletes the positions and, with the settings, the key: the next walk belongs to a new walker. */
  async clear() {
    for (const name of ['positions', 'settings']) {
      const store = this.#store(name, 'readwrite')
      store.clear()
      await done(store)
    }
  }

  /** @param {string} name @param {IDBTransactionMode} mode */
  #store(name, mode = 'readonly') {
    return this.#db.transaction(name, mode).objectStore(name)
  }
}

/** @param {IDBRequest} request @returns {Promise<any>} */
function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

/** Resolves when the transaction has completed. @param {IDBObjectStore} store @returns {Promise<void>} */
function done({ transaction }) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve()
    transaction.onabort = () => reject(transaction.error)
  })
}
