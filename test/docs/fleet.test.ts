/** The page and the pictures of simulated fleets match the committed figures. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type FleetFile, fleetPage } from '../../bench/lib/fleet-page.ts'
import { fleetPictures } from '../../bench/lib/fleet-pictures.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const found = JSON.parse(read('bench/results/fleet.json')) as FleetFile

test('docs/fleet-figures.md matches bench/results/fleet.json', () => {
  assert.equal(read('docs/fleet-figures.md'), fleetPage(found), 'run node bench/fleet.ts --pages')
})

test('docs/fleet.md shows every picture, and each matches bench/results/fleet.json', () => {
  for (const { file, svg } of fleetPictures(found)) {
    assert.ok(read('docs/fleet.md').includes(`](images/${file})`), `${file} is not shown`)
    assert.equal(read(`docs/images/${file}`), svg, 'run node bench/fleet.ts --pages')
  }
})
