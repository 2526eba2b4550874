// Next.js sends the static part of this page at once, and the rest when its data is available.
import { setTimeout as sleep } from 'node:timers/promises'
import { Suspense } from 'react'

export const dynamic = 'force-dynamic'

async function Late({ ms }) {
  await sleep(ms)
  return <p>late by {ms}</p>
}

export default function Page() {
  return (
    <main>
      <h1>at once</h1>
      <Suspense fallback={<p>waiting</p>}>
        <Late ms={12_000} />
      </Suspense>
    </main>
  )
}
