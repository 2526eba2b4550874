/** Places in the counts that a dependency's thread shares with its test: requests that have come, answers that it has written. */
export const CAME = 0
export const WRITTEN = 1
