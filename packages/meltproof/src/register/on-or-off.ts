/**
 * Match the values `on` and `off` of a variable, and the words of other programs: MELTPROOF=false means off. White
 * space is allowed, because `set MELTPROOF=off && npm start` on Windows adds a space to the value.
 */
export const ON: RegExp = /^\s*(?:on|true|1)\s*$/i
export const OFF: RegExp = /^\s*(?:off|false|0)\s*$/i
