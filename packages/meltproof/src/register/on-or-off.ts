/** Match the values `on` and `off` of a variable, and the words of other programs: MELTPROOF=false means off. */
export const ON: RegExp = /^(?:on|true|1)$/i
export const OFF: RegExp = /^(?:off|false|0)$/i
