/** Recognises headers that carry credentials, because reports and results are shared. Pure. */
const WORDS = /auth|cookie|key|password|secret|session|signature|token/i

export const isCredential = (headerName: string): boolean => WORDS.test(headerName)
