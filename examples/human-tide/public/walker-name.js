/** What a name may be. The server imports this too: the page never lets through what the server refuses. Pure. */

/** Characters, as Unicode counts them: an emoji made of three counts three and what joins them. */
export const LONGEST_NAME = 24

/** What moves the cursor, hides or reorders text: control, format (bidi overrides), surrogates, private use, line ends. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/u
/** Persian, Hindi and others: a joiner or non-joiner (U+200D, U+200C) inside a word says how its letters are drawn. */
const IN_A_WORD = /([\p{L}\p{M}])[\u200c\u200d](?=[\p{L}\p{M}])/gu
/** A joiner makes one emoji of several; a colour of skin or U+FE0F may stand before it. */
const IN_AN_EMOJI = /(\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d(?=\p{Extended_Pictographic})/gu
/** Some letters are blank by definition (Hangul fillers), and so is the Braille pattern without dots. */
const VISIBLE = /[^\p{Default_Ignorable_Code_Point}\p{White_Space}\u2800]/u

/** @param {string} name @returns {string | undefined} what is wrong, for whoever chose it */
export function faultOfName(name) {
  if ([...name].length > LONGEST_NAME) return `A name has at most ${LONGEST_NAME} characters`
  if (UNPRINTABLE.test(name.replace(IN_A_WORD, '$1').replace(IN_AN_EMOJI, '$1'))) {
    return 'This name has a character that can not be shown; please write it without'
  }
  if (name.trim() !== '' && !VISIBLE.test(name)) return 'There is nothing to see in this name; please choose another'
  return undefined
}
