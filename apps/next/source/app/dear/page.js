// A page that is rendered for every request, which takes some CPU time.
export const dynamic = 'force-dynamic'

export default function Page() {
  return (
    <table>
      <tbody>
        {Array.from({ length: 200 }, (_, row) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows never move
          <tr key={row}>
            <td>{row}</td>
            <td>{(row * 7919) % 1009}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
