/** The CDK app. `cdk synth --context settings=FILE`; without it, `reviewloop.config.ts`, or the example's settings where there is none. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { App, Validations } from 'aws-cdk-lib'
import { AwsSolutionsChecks } from 'cdk-nag'
import { ROOT, writeBundles } from '../lib/infra/bundling.ts'
import { deploymentDocument } from '../lib/infra/deployment-document.ts'
import { readSettings } from '../lib/infra/read-settings.ts'
import { ReviewloopStack } from '../lib/infra/stack.ts'

const app = new App({ analyticsReporting: false })
const named: unknown = app.node.tryGetContext('settings')
const own = 'reviewloop.config.ts'
const example = join(ROOT, 'examples/full.config.ts')
const settings = await readSettings(typeof named === 'string' ? named : existsSync(own) ? own : example)
const bundles = await writeBundles(join(ROOT, 'dist/functions'), deploymentDocument(settings))
new ReviewloopStack(app, `reviewloop-${settings.stage}`, { settings, bundles })
Validations.of(app).addPlugins(new AwsSolutionsChecks(app))
app.synth()
