import { notFound } from 'next/navigation'

export default async function Page({ params }) {
  const { id } = await params
  if (id === 'nobody') notFound()
  return <p>user {id}</p>
}
