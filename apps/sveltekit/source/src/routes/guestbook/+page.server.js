import { fail, redirect } from '@sveltejs/kit'

export const load = ({ cookies }) => ({ name: cookies.get('name') ?? 'nobody' })

export const actions = {
  async default({ request, cookies }) {
    const name = (await request.formData()).get('name')
    if (name === '') return fail(422, { missing: true })
    cookies.set('name', name, { path: '/' })
    redirect(303, '/guestbook')
  },
}
