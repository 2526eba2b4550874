/** Where the configurations of deploy/ are: the build puts them beside the published code, a checkout has them as they are. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = ['../deploy/', '../../../../deploy/']
  .map(place => fileURLToPath(new URL(place, import.meta.url)))
  .find(existsSync)!

/** Such as `haproxy/haproxy.cfg`. */
export const deployFile = (name: string): string => `${FOLDER}${name}`
