import { describe, expect, it } from 'vitest'
import { refReader } from '../../lib/forge/pkt-line.ts'

const id = (digit: string): string => digit.repeat(40)
const packet = (text: string): string => (Buffer.byteLength(text) + 4).toString(16).padStart(4, '0') + text
const service = `${packet('# service=git-upload-pack\n')}0000`
const refs = [
  packet(`${id('1')} HEAD\0multi_ack symref=HEAD:refs/heads/main\n`),
  packet(`${id('2')} refs/heads/é\n`),
  packet(`${id('3')} refs/heads/main\n`),
  packet(`${id('4')} refs/tags/v1^{}\n`),
].join('')
const read = (text: string, ref: string, size = 1): string | null => {
  const reader = refReader(ref)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) if (reader.push(bytes.subarray(at, at + size))) break
  return reader.end()
}
const failed = expect.objectContaining({ name: 'FetchFailed' })

describe('the list of refs', () => {
  it('gives the one that is sought, however it is cut into pieces', () => {
    for (let size = 1; size < 90; size++) {
      expect(read(`${service}${refs}0000`, 'refs/heads/main', size)).toBe(id('3'))
      expect(read(`${service}${refs}0000`, 'refs/heads/é', size)).toBe(id('2'))
      expect(read(`${service}${refs}0000`, 'refs/heads/other', size)).toBeNull()
    }
  })

  it('stops where it has it', () => {
    const reader = refReader('refs/heads/é')
    expect(reader.push(Buffer.from(service))).toBe(false)
    expect(reader.push(Buffer.from(refs))).toBe(true)
    expect(reader.end()).toBe(id('2'))
  })

  it('gives null for a repository without refs', () => {
    expect(read(`${service}${packet(`${id('0')} capabilities^{}\0agent=x\n`)}0000`, 'refs/heads/main')).toBeNull()
  })

  it.each([
    `${service}${refs}`,
    service,
    '',
    '<html><body>no</body>',
    'zzzz',
    '0003',
    `${service}${packet('ERR access denied')}`,
    `${service}${packet('what is this')}0000`,
  ])('is never "no such branch" where it is cut off or something else: %j', (text) =>
    expect(() => read(text, 'refs/heads/other')).toThrow(failed),
  )
})
