/** Parts of sentences. Pure. */

/** Such as `1 user` or `1,200 users`. */
export const plural = (count: number, noun: string): string =>
  `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`

/** At most `most` characters, with an ellipsis in place of the rest. */
export const shortened = (text: string, most = 60): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text
