import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultOfName } from '../public/walker-name.js'

for (const name of [
  '',
  '   ',
  'Ada',
  '<b>&Ada</b>',
  'María-José',
  '江 小明',
  '👩‍🦰',
  '👩🏽‍🚀 Zoë',
  '👨‍👩‍👧‍👦',
  '🏳️‍🌈',
  '❤️‍🔥',
  '🏴‍☠️',
  '❤️ 1️⃣',
  'می‌روم',
  'क्‍ष',
  'ශ්‍රී',
  '🌊'.repeat(24),
]) {
  test(`${JSON.stringify(name)} is a valid name`, () => assert.equal(faultOfName(name), undefined))
}

for (const [what, name] of Object.entries({
  'a line end': 'a\nb',
  'a zero byte': 'a\0b',
  'a bidi override': '\u202eadA',
  'a bidi mark': 'Ada\u200f',
  'a bidi isolate': '\u2066Ada',
  'a line separator': 'a\u2028b',
  'half a character': '\ud800',
  'a soft hyphen': 'A\u00adda',
  'a zero width space': 'A\u200bda',
  'a word joiner': 'A\u2060da',
  'a tag': 'Ada\u{e0041}',
  'private use': '\ue000',
  'a joiner at the end': 'Ada\u200d',
  'a joiner at the beginning': '\u200dAda',
  'two joiners': 'ما\u200c\u200cرو',
  'a joiner after a space': 'Ada \u200dB',
  'a joiner between an emoji and a letter': '👩\u200dA',
  'a non-joiner between emojis': '👩\u200c🦰',
  'a joiner alone': '\u200d',
  'Hangul fillers alone': '\u3164\u3164',
  'Braille without dots': '\u2800',
  'variation selectors alone': '\ufe0f',
  'blanks and a filler': ' \u3164 ',
  '25 characters': 'x'.repeat(25),
})) {
  test(`${what} is rejected`, () => assert.match(String(faultOfName(name)), /name/))
}
