/** The rules for names. The server imports them too, so the page accepts no name that the server refuses. Pure. */

/** Maximum number of code points. An emoji that is made of three counts as three, plus the joiners between them. */
export const LONGEST_NAME = 24

/**
 * Characters that hide, break or reorder text: control, format (bidi overrides), surrogates, private use, line ends.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/u
/** In Persian, Hindi and others a joiner or non-joiner (U+200D, U+200C) in a word sets how its letters are drawn. */
const IN_A_WORD = /([\p{L}\p{M}])[\u200c\u200d](?=[\p{L}\p{M}])/gu
/** A joiner makes one emoji of several. A skin tone or U+FE0F may stand before it. */
const IN_AN_EMOJI = /(\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d(?=\p{Extended_Pictographic})/gu
/** Matches a visible character. Some letters (Hangul fillers) and the Braille pattern without dots are blank. */
const VISIBLE = /[^\p{Default_Ignorable_Code_Point}\p{White_Space}\u2800]/u

/** @param {string} name @returns {string | undefined} what is wrong, in words for the walker */
export function faultOfName(name) {
  if ([...name].length > LONGEST_NAME) return `A name has at most ${LONGEST_NAME} characters`
  if (UNPRINTABLE.test(name.replace(IN_A_WORD, '$1').replace(IN_AN_EMOJI, '$1'))) {
    return 'This name has a character that can not be shown; please write it without'
  }
  if (name.trim() !== '' && !VISIBLE.test(name)) return 'There is nothing to see in this name; please choose another'
  return undefined
}
