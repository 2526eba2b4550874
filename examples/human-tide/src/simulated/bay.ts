/** Simulates people who walk along the invented bay, for a demonstration. Pure but for random numbers. */
import { readFileSync } from 'node:fs'
import type { Position } from '../positions/report.ts'

const NAMES =
  'Ada Bo Cleo Dina Emil Fay Gus Hana Ivo Jun Kai Lea Mats Nia Otto Pia Quin Rosa Sven Tilda Uma Vic Wim Xan Yara Zoe'.split(
    ' ',
  )
const METRES = 111_320

type Point = readonly [lon: number, lat: number]
const bay = JSON.parse(readFileSync(new URL('../../public/shoreline.json', import.meta.url), 'utf8'))
const [begin, end] = bay.properties.bay
const line: readonly Point[] = bay.geometry.coordinates.slice(begin, end + 1)
const squeeze = Math.cos((line[0]![1] * Math.PI) / 180)

/** A different name for each index: Ada, Bo, ... Zoe, Ada 1, Bo 1, ... */
export const nameOf = (index: number): string =>
  NAMES[index % NAMES.length]! + (index < NAMES.length ? '' : ` ${Math.floor(index / NAMES.length)}`)

const between = (min: number, max: number): number => min + Math.random() * (max - min)

export class BayWalker {
  #along = between(0, line.length - 1)
  /** Segments of the line (20 m) a second; 0.9 to 1.6 m/s, in either direction. */
  #pace = (between(0.9, 1.6) / 20) * (Math.random() < 0.5 ? -1 : 1)
  /** Metres up the beach. */
  #side = between(1, 14)

  /** Walks for one second. The time serves as `seq`, so that numbers continue after those of an earlier process. */
  step(at: number): Position {
    this.#along += this.#pace
    if (this.#along < 0.01 || this.#along > line.length - 1.01) this.#pace = -this.#pace
    this.#along = Math.min(line.length - 1.01, Math.max(0.01, this.#along))
    this.#side = Math.min(18, Math.max(0, this.#side + between(-0.5, 0.5)))
    const index = Math.floor(this.#along)
    const part = this.#along - index
    const [lon1, lat1] = line[index]!
    const [lon2, lat2] = line[index + 1]!
    const [east, north] = [(lon2 - lon1) * squeeze, lat2 - lat1]
    const up = this.#side / METRES / Math.hypot(east, north)
    return {
      seq: at,
      at,
      // Land is on the left of the line.
      lat: lat1 + north * part + east * up,
      lon: lon1 + (east * part - north * up) / squeeze,
      accuracy: Math.round(between(3, 9)),
    }
  }
}
