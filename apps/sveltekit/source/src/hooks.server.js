export async function handle({ event, resolve }) {
  const response = await resolve(event)
  response.headers.set('X-Hook', event.route.id ?? 'none')
  return response
}

/** Without this hook, SvelteKit prints the stack of every error that a route throws on purpose. */
export const handleError = ({ status, message }) => ({ status, message })
