// A route that streams the response of another service, such as the answer of a language model or an export.
export async function GET({ url }) {
  const answer = await fetch(new URL(url.searchParams.get('path'), process.env.UPSTREAM))
  return new Response(answer.body, { headers: { 'Content-Type': answer.headers.get('content-type') } })
}
