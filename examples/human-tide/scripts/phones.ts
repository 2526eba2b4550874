/**
 * `npm run phones -w human-tide`: starts the service for phones in the same network, over https, because browsers give
 * a position to no other page. Makes a certificate for this computer's address with openssl, and reuses it while valid.
 */
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { readConfig } from '../src/config.ts'
import { lanAddress } from '../src/lan.ts'

/** Validity of the certificate. Apple devices accept at most 825 days; a demonstration needs far less. */
const DAYS = 90

const address = lanAddress()
if (address === undefined) stop('This computer is in no network that phones could be in. Join one, then try again.')
const { dataDir } = readConfig(process.env)
const folder = path.join(dataDir, 'tls')
const [cert, key] = [path.join(folder, 'cert.pem'), path.join(folder, 'key.pem')]
if (!isGood(cert)) make()

Object.assign(process.env, { HOST: '0.0.0.0', TLS_CERT: cert, TLS_KEY: key })
console.log(`
No authority has signed this certificate: it was made here. So each phone warns once that the connection is not private.
That is right, and it is your own computer:
  Chrome: "Advanced", then "Proceed to ${address}"    Safari: "Show Details", then "visit this website"
If no phone gets as far as that warning, a firewall is in the way, or the network keeps its guests apart.
`)
await import('../src/main.ts')

/** Whether the certificate is for this address, and valid for at least another week. */
function isGood(file: string): boolean {
  if (!existsSync(file) || !existsSync(key)) return false
  const made = new X509Certificate(readFileSync(file))
  return made.checkIP(address!) !== undefined && made.validToDate.getTime() > Date.now() + 7 * 86_400_000
}

function make(): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const names = `subjectAltName=IP:${address},IP:127.0.0.1,DNS:localhost,DNS:${hostname()}`
  try {
    execFileSync(
      'openssl',
      // Safari requires extendedKeyUsage, too.
      ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', String(DAYS)]
        .concat(['-subj', '/CN=Human Tide', '-addext', names, '-addext', 'extendedKeyUsage=serverAuth'])
        .concat(['-keyout', key, '-out', cert]),
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
  } catch (error) {
    const { code, stderr } = error as NodeJS.ErrnoException & { stderr?: Buffer }
    if (code === 'ENOENT')
      stop('There is no openssl here to make a certificate: install it, or set TLS_CERT and TLS_KEY.')
    stop(`openssl made no certificate: ${stderr?.toString().trim().split('\n').at(-1) ?? error}`)
  }
}

function stop(why: string): never {
  console.error(why)
  process.exit(1)
}
