/** Writes a file all or nothing: neither a full disk nor a killed process leaves half of it under its name. */
import { renameSync, writeFileSync } from 'node:fs'

export function writeWhole(file: string, text: string): void {
  writeFileSync(`${file}.new`, text)
  renameSync(`${file}.new`, file)
}
