/**
 * Preloaded (`--import`): applies the edits in MELT_EDITS to source files while they load, so that a rule can be
 * switched off or a constant changed without an option for it in the product. An edit must match exactly once.
 */
import { registerHooks } from 'node:module'

export interface Edit {
  /** The end of the path of the file. */
  readonly file: string
  readonly find: string
  readonly put: string
}

const edits = JSON.parse(process.env['MELT_EDITS'] ?? '[]') as Edit[]
if (edits.length > 0) {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      for (const edit of edits.filter(({ file }) => url.endsWith(file)))
        loaded.source = edited(String(loaded.source), edit)
      return loaded
    },
  })
}

export function edited(source: string, { file, find, put }: Edit): string {
  if (source.split(find).length !== 2) throw new Error(`${file} does not contain exactly one occurrence of '${find}'`)
  return source.replace(find, () => put)
}
