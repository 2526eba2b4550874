/** "1 walker", "2 walkers": the form for a count. @param {number} count @param {string} one @param {string} more */
export const plural = (count, one, more = `${one}s`) => (count === 1 ? one : more)
