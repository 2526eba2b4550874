/** Escapes text for HTML or SVG. Pure. */

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** For text and for quoted attribute values. */
export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, char => entities[char]!)
}
