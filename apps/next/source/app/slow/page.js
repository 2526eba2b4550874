// Rendered while it is sent: the shell at once, the rest when its data is there.
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
