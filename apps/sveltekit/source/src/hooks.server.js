export async function handle({ event, resolve }) {
  const response = await resolve(event)
  response.headers.set('X-Hook', event.route.id ?? 'none')
  return response
}

/** Without it every error on purpose is printed with its stack. */
export const handleError = ({ status, message }) => ({ status, message })
