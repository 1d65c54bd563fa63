/** The stack under cdk-nag: nothing is found but the one thing that is acknowledged. */
import { type App, Validations } from 'aws-cdk-lib'
import { Bucket } from 'aws-cdk-lib/aws-s3'
import { AwsSolutionsChecks } from 'cdk-nag'
import { expect, test } from 'vitest'
import { exampleSettings, synthesize } from '../support/template.ts'

const checked = (more: (app: App) => void = () => {}) =>
  synthesize(exampleSettings(), (app) => {
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app))
    more(app)
  })

const acknowledged = (app: App): string[] =>
  app.node
    .findAll()
    .flatMap((node) =>
      node.node.metadata
        .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
        .flatMap(({ data }) => Object.keys(data as object).map((id) => `${node.node.path}: ${id}`)),
    )

test('it finds nothing, and one finding is acknowledged', () => {
  let known: string[] = []
  expect(() => checked((app) => void (known = acknowledged(app)))).not.toThrow()
  expect(known).toEqual(['reviewloop-test/Loop/Role: AwsSolutions::AwsSolutions-IAM5[Resource::*]'])
})

test('it would find something', () => {
  expect(() => checked((app) => void new Bucket(app.node.findChild('reviewloop-test'), 'Open'))).toThrow('AwsSolutions-S1')
})
