/** A certificate for localhost, made for one test and forgotten with it: no key lies in the repository. */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const der = (tag: number, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  if (body.length < 128) return Buffer.concat([Buffer.from([tag, body.length]), body])
  const length = Buffer.from(body.length.toString(16).padStart(body.length > 255 ? 4 : 2, '0'), 'hex')
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), length, body])
}
const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts)
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))
const time = (date: Date): Buffer => der(0x17, Buffer.from(date.toISOString().replace(/^20|[-:T]|\.\d+/g, '')))

const ECDSA_SHA256 = '2a8648ce3d040302'
const COMMON_NAME = '550403'
const SUBJECT_ALT_NAME = '551d11'
const BASIC_CONSTRAINTS = '551d13'
const DAY = 24 * 60 * 60 * 1000

export const selfSigned = (): { key: string; certificate: string } => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(der(0x31, sequence(oid(COMMON_NAME), der(0x0c, Buffer.from('localhost')))))
  const algorithm = sequence(oid(ECDSA_SHA256))
  const names = sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])))
  const extensions = sequence(
    sequence(oid(SUBJECT_ALT_NAME), der(0x04, names)),
    sequence(oid(BASIC_CONSTRAINTS), der(0x01, Buffer.from([0xff])), der(0x04, sequence(der(0x01, Buffer.from([0xff]))))),
  )
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1]), randomBytes(8)),
    algorithm,
    name,
    sequence(time(new Date(Date.now() - DAY)), time(new Date(Date.now() + DAY))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey))
  const pem = sequence(body, algorithm, signature)
    .toString('base64')
    .replace(/(.{64})/g, '$1\n')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: `-----BEGIN CERTIFICATE-----\n${pem.trim()}\n-----END CERTIFICATE-----\n`,
  }
}
