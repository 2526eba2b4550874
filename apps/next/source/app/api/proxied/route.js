// A route that hands on what it fetches, as it comes: a model's answer, an export of another service.
export const dynamic = 'force-dynamic'

export async function GET(request) {
  const answer = await fetch(new URL(request.nextUrl.searchParams.get('path'), process.env.UPSTREAM))
  return new Response(answer.body, { headers: { 'Content-Type': answer.headers.get('content-type') } })
}
