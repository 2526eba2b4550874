// A route that hands on what it fetches, as it comes: a model's answer, an export of another service.
export async function GET({ url }) {
  const answer = await fetch(new URL(url.searchParams.get('path'), process.env.UPSTREAM))
  return new Response(answer.body, { headers: { 'Content-Type': answer.headers.get('content-type') } })
}
