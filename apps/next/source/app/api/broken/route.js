export function GET() {
  throw new Error('broken on purpose')
}
