/** Converts --insecure, --cacert, --cert and --key for the engine. Reads and tests the files before the load. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Tls } from '../load/plan.ts'
import type { TlsFlags } from '../option-values.ts'
import { UserError } from '../user-error.ts'
import { readInput } from './read-input.ts'

/** Undefined without any of these flags. @throws UserError that names the flag of the invalid file */
export async function tlsOf({ insecure, cacert, cert, key }: TlsFlags): Promise<Tls | undefined> {
  if (insecure === true && cacert !== undefined) {
    throw new UserError(
      '--insecure and --cacert exclude each other: the first trusts every server, the second those of an authority.',
    )
  }
  if (cert === undefined && key !== undefined) throw new UserError('--key needs --cert, the certificate it belongs to.')
  if (insecure !== true && cacert === undefined && cert === undefined) return undefined
  return {
    ...(insecure === true ? { insecure } : {}),
    ...(cacert === undefined ? {} : { ca: (await certificateIn(cacert, '--cacert')).text }),
    ...(cert === undefined ? {} : await own(cert, key)),
  }
}

/** Without --key, the file of --cert contains both. */
async function own(certFile: string, keyFile: string | undefined): Promise<Pick<Tls, 'cert' | 'key'>> {
  const { certificate, text: cert } = await certificateIn(certFile, '--cert')
  const [file, option] = keyFile === undefined ? [certFile, '--cert'] : [keyFile, '--key']
  const key = (await readInput(file, option)).toString()
  const privateKey = tried(file, option, 'a private key in PEM, without a passphrase', () => createPrivateKey(key))
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new UserError(`${option} ${file} is not the key of the certificate in ${certFile}.`)
  }
  return { cert, key }
}

async function certificateIn(
  file: string,
  option: string,
): Promise<{ readonly certificate: X509Certificate; readonly text: string }> {
  const text = (await readInput(file, option)).toString()
  return { text, certificate: tried(file, option, 'a certificate in PEM', () => new X509Certificate(text)) }
}

function tried<T>(file: string, option: string, what: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new UserError(`${option} ${file} is not ${what}: ${(error as Error).message}.`)
  }
}
