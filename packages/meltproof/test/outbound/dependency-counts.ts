/** Indexes into the counts that a dependency's thread shares with its test: arrived requests and written responses. */
export const CAME = 0
export const WRITTEN = 1
