/** Escapes text for HTML or SVG. Pure. */

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, char => entities[char]!)
}
