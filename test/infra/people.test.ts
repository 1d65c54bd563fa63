/** The topic by which people are told. */
import { expect, test } from 'vitest'
import { environmentOf, exampleSettings, ofType, only, plain, synthesize } from '../support/template.ts'
import { ENV } from '../../lib/names.ts'

const template = synthesize(exampleSettings({ notify: { emails: ['ada@example.org', 'bob@example.org'] } }))

test('there is one, over TLS alone, and the addresses of the settings are subscribed to it', () => {
  const [id] = only(template, 'AWS::SNS::Topic')
  const subscriptions = ofType(template, 'AWS::SNS::Subscription').map(([, { Properties }]) => Properties)
  expect(subscriptions.map(({ Endpoint, Protocol, TopicArn }) => [Endpoint, Protocol, plain(TopicArn)])).toEqual([
    ['ada@example.org', 'email', id],
    ['bob@example.org', 'email', id],
  ])
  expect(JSON.stringify(only(template, 'AWS::SNS::TopicPolicy')[1].Properties)).toContain('"aws:SecureTransport":"false"')
  for (const name of ['Park', 'Close'] as const) expect(environmentOf(template, name)[ENV.topic]).toBe(id)
})
