export default function Page() {
  return <h1>Next says hello</h1>
}
