/** Features of a terminal: colours, the width. Respects `NO_COLOR` and `FORCE_COLOR`, like Node's styleText. */
import { Stream } from 'node:stream'
import { styleText } from 'node:util'

/** A stream of this process, or the fake that a test passes instead. */
export interface Out {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

/** Columns of a default terminal; also the width of text in files and pipes. */
const USUAL_WIDTH = 80

export const widthOf = ({ isTTY, columns }: Pick<Out, 'isTTY' | 'columns'>): number =>
  isTTY === true && columns !== undefined && columns > 0 ? columns : USUAL_WIDTH

export const paintOn =
  (stream: Out) =>
  (style: 'bold' | 'dim' | 'green' | 'yellow' | 'red', text: string): string =>
    // styleText accepts only real streams, so the fake of a test gets no colours.
    stream instanceof Stream ? styleText(style, text, { stream: stream as Stream & NodeJS.WritableStream }) : text

/** Replaces control characters in texts of files and servers, which could move the cursor or change colours. */
export const withoutControls = (text: string): string => text.replace(/[^\P{Cc}\n\t]/gu, '?')
