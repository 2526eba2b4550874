export { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'
