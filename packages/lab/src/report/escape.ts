/** Text that goes into HTML or SVG. Pure. */

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** For text and for attribute values in quotes. */
export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, char => entities[char]!)
}

/** JSON that may stand inside a script element: no `<` can end it, and U+2028/9 are legal in it anyway. */
export function scriptJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c')
}
