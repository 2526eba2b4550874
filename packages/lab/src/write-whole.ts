/** Writes a file completely or not at all: a full disk or a killed process leaves no partial file under its name. */
import { renameSync, writeFileSync } from 'node:fs'

export function writeWhole(file: string, text: string): void {
  writeFileSync(`${file}.new`, text)
  renameSync(`${file}.new`, file)
}
