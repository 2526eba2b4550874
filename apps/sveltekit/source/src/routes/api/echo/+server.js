export const GET = ({ url }) => Response.json({ query: Object.fromEntries(url.searchParams) })

export async function POST({ request }) {
  try {
    return Response.json({ got: await request.json() }, { status: 201, headers: { 'X-Route': 'echo' } })
  } catch {
    return new Response('no JSON', { status: 400 })
  }
}
