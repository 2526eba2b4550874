/** The databases that histories run on, and why the tests of one are skipped. */
import { skipWithout } from '../../installed.ts'

export const DATABASES: readonly { readonly name: string; readonly skip: string | false }[] = [
  { name: 'pg', skip: false },
  { name: 'mysql', skip: skipWithout('mariadbd', 'mariadb-server') },
  { name: 'redis', skip: skipWithout('redis-server', 'redis-server') },
]
