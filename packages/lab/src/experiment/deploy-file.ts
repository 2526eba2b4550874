/** Locates the configurations of deploy/: next to the published code, or in the checkout. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = ['../deploy/', '../../../../deploy/']
  .map(place => fileURLToPath(new URL(place, import.meta.url)))
  .find(existsSync)!

/** Such as `haproxy/haproxy.cfg`. */
export const deployFile = (name: string): string => `${FOLDER}${name}`
