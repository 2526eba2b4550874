/** Headers that prove who somebody is: reports and results are passed on, and those must not be. Pure. */
const WORDS = /auth|cookie|key|password|secret|session|signature|token/i

export const isCredential = (headerName: string): boolean => WORDS.test(headerName)
