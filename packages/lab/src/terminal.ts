/** Features of a terminal: colours, links, the width. Respects `NO_COLOR` and `FORCE_COLOR`, like Node's styleText. */
import { pathToFileURL } from 'node:url'
import path from 'node:path'
import { Stream } from 'node:stream'
import { styleText } from 'node:util'

/** A stream of this process, or the fake that a test passes instead. */
export interface Out {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

/** The width of a default terminal, and of files. */
const USUAL_WIDTH = 80

export const widthOf = ({ isTTY, columns }: Pick<Out, 'isTTY' | 'columns'>): number =>
  isTTY === true && columns !== undefined && columns > 0 ? columns : USUAL_WIDTH

export const paintOn =
  (stream: Out) =>
  (style: 'bold' | 'dim' | 'green' | 'yellow' | 'red', text: string): string =>
    // styleText accepts only real streams, so the fake of a test gets no colours.
    stream instanceof Stream ? styleText(style, text, { stream: stream as Stream & NodeJS.WritableStream }) : text

/** A relative path, or an absolute one outside the working folder; clickable on terminals that support links. */
export function linkTo(file: string, stream: Pick<Out, 'isTTY'>, env: NodeJS.ProcessEnv): string {
  const near = path.relative('', file)
  const shown = near.startsWith('..') ? path.resolve(file) : near
  if (!takesLinks(stream, env)) return shown
  return `\u001b]8;;${pathToFileURL(file).href}\u001b\\${shown}\u001b]8;;\u001b\\`
}

/** Terminals cannot be asked, and those without OSC 8 may print it, so only known ones get links. Pure. */
export function takesLinks({ isTTY }: Pick<Out, 'isTTY'>, env: NodeJS.ProcessEnv): boolean {
  const { FORCE_HYPERLINK: forced, TERM: term = '', VTE_VERSION: vte = '0', KONSOLE_VERSION: konsole = '0' } = env
  if (forced !== undefined && forced !== '') return forced !== '0'
  if (isTTY !== true || env['CI'] !== undefined || /^(dumb|screen|tmux)/.test(term)) return false
  return (
    ['iTerm.app', 'WezTerm', 'vscode', 'ghostty', 'Hyper', 'Tabby'].includes(env['TERM_PROGRAM'] ?? '') ||
    ['xterm-kitty', 'alacritty', 'foot'].includes(term) ||
    env['WT_SESSION'] !== undefined ||
    Number(vte) >= 5000 ||
    Number(konsole) >= 201_200
  )
}

/** Replaces control characters in texts of files and servers, which could move the cursor or change colours. */
export const withoutControls = (text: string): string => text.replace(/[^\P{Cc}\n\t]/gu, '?')
