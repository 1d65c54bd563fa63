import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { describe, expect, it, vi } from 'vitest'
import { redact } from '../../lib/loop/redact.ts'
import { hookSecrets, isSigned } from '../../lib/runtime/hook-signature.ts'
import { ENV } from '../../lib/names.ts'

/** The example of GitHub's own documentation of webhooks. */
const DOCUMENTED = {
  secret: "It's a Secret to Everybody",
  body: new TextEncoder().encode('Hello, World!'),
  signature: 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
}

describe('a signature', () => {
  it("is checked as GitHub documents it, by the documentation's example", () => {
    const { secret, body, signature } = DOCUMENTED
    expect(isSigned(body, signature, [secret])).toBe(true)
    expect(isSigned(body, signature, ['another', secret])).toBe(true)
    for (const wrong of [undefined, '', 'sha256=', signature.toUpperCase(), `${signature}0`, signature.replace('7', '8')])
      expect(isSigned(body, wrong, [secret])).toBe(false)
    expect(isSigned(new TextEncoder().encode('Hello, World?'), signature, [secret])).toBe(false)
    expect(isSigned(body, signature, [])).toBe(false)
  })
})

describe('the secret', () => {
  const reading = (text: string | Error) => {
    vi.stubEnv(ENV.hookSecret, 'arn:of:a-secret')
    const client = new SecretsManagerClient({ region: 'us-east-1' })
    const send = vi.fn<() => Promise<{ SecretString: string }>>(async () => {
      if (text instanceof Error) throw text
      return { SecretString: text }
    })
    Object.assign(client, { send })
    let now = 0
    return { read: hookSecrets(client, () => now), send, later: (ms: number) => (now += ms) }
  }

  it('is read once in five minutes, one a line, and shows in no text', async () => {
    const { read, send, later } = reading('the-new-secret-of-these\n\n the-old-secret-of-these \nshort\n')
    expect(await read()).toEqual(['the-new-secret-of-these', 'the-old-secret-of-these'])
    await read()
    expect(send).toHaveBeenCalledTimes(1)
    later(300_001)
    await read()
    expect(send).toHaveBeenCalledTimes(2)
    expect(redact('it is the-new-secret-of-these')).not.toContain('the-new-secret')
  })

  it.each([['short'], [''], [new Error('AccessDenied')]])('that is no secret lets nothing in: %s', async (text) => {
    await expect(reading(text).read()).rejects.toMatchObject({ name: 'StoreUnavailable' })
  })
})
