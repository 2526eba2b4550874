/** Calls an uninstall function again after a later install(), and reports whether the later one still applies. */
import { install } from 'meltproof/stdout'

const first = install()
first()
const second = install()
const { write } = process.stdout
first()
const third = install()
process.send({ same: second === third, patchedOnce: process.stdout.write === write })
