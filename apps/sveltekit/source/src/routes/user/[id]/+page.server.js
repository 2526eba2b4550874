import { error, redirect } from '@sveltejs/kit'

export function load({ params, setHeaders }) {
  if (params.id === 'nobody') error(404, 'there is no such user')
  if (params.id === 'old') redirect(308, '/user/7')
  setHeaders({ 'Cache-Control': 'private, max-age=60' })
  return { id: params.id }
}
