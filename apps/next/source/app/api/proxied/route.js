// A route that streams the response of another service, such as the answer of a language model or an export.
export const dynamic = 'force-dynamic'

export async function GET(request) {
  const answer = await fetch(new URL(request.nextUrl.searchParams.get('path'), process.env.UPSTREAM))
  return new Response(answer.body, { headers: { 'Content-Type': answer.headers.get('content-type') } })
}
