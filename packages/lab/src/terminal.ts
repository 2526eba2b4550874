/**
 * What a terminal can show and a file cannot: colours, links, the width. `NO_COLOR` and `FORCE_COLOR` are honoured, as
 * Node's styleText does.
 */
import { pathToFileURL } from 'node:url'
import path from 'node:path'
import { Stream } from 'node:stream'
import { styleText } from 'node:util'

/** A stream of this process, or what a test puts in its place. */
export interface Out {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

/** Of a terminal nobody has made wider, and of files. */
export const USUAL_WIDTH = 80

export const widthOf = ({ isTTY, columns }: Pick<Out, 'isTTY' | 'columns'>): number =>
  isTTY === true && columns !== undefined && columns > 0 ? columns : USUAL_WIDTH

export const paintOn =
  (stream: Out) =>
  (style: 'bold' | 'dim' | 'green' | 'yellow' | 'red', text: string): string =>
    // A stand-in is no stream for styleText, and takes no colours.
    stream instanceof Stream ? styleText(style, text, { stream: stream as Stream & NodeJS.WritableStream }) : text

/** The path as people type it, whole where it leads elsewhere; on a terminal that is known to take links it can be clicked. */
export function linkTo(file: string, stream: Pick<Out, 'isTTY'>, env: NodeJS.ProcessEnv): string {
  const near = path.relative('', file)
  const shown = near.startsWith('..') ? path.resolve(file) : near
  if (!takesLinks(stream, env)) return shown
  return `\u001b]8;;${pathToFileURL(file).href}\u001b\\${shown}\u001b]8;;\u001b\\`
}

/**
 * No terminal can be asked, and one that knows no OSC 8 may print it: only those that are known to. A multiplexer between
 * may swallow it. Pure.
 */
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

/** Text of files and servers: without what would move the cursor or colour the rest. */
export const withoutControls = (text: string): string => text.replaceAll(CONTROLS, '')

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g
