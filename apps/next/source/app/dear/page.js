// A page that is rendered anew for every request, with some work in it.
export const dynamic = 'force-dynamic'

export default function Page() {
  return (
    <table>
      <tbody>
        {Array.from({ length: 200 }, (_, row) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: nothing is ever moved
          <tr key={row}>
            <td>{row}</td>
            <td>{(row * 7919) % 1009}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
