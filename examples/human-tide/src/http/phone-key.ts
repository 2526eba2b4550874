/**
 * The identity of a sender: the phone's page generates a key and keeps it; the walker's id is a hash of it. So a walker
 * needs no registration and can begin without a signal, and what the live page shows does not allow others to send in
 * its name.
 */
import { hash } from 'node:crypto'
import type { Request } from 'express'
import { Refusal } from '../refusal.ts'

/** 128 bits or more in base64url. */
const BEARER = /^Bearer ([A-Za-z0-9_-]{22,64})$/i

/** A UUID made of the first 128 bits of the key's SHA-256 hash. */
export function walkerOf(request: Request): string {
  const key = BEARER.exec(request.headers.authorization ?? '')?.[1]
  if (key === undefined) {
    throw new Refusal(401, 'no-key', "Send the phone's key: Authorization: Bearer, 22 to 64 characters of base64url")
  }
  const hex = hash('sha256', key, 'hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}
