export const GET = request => Response.json({ query: Object.fromEntries(request.nextUrl.searchParams) })

export async function POST(request) {
  return Response.json({ got: await request.json() }, { status: 201, headers: { 'X-Route': 'echo' } })
}
