/** One schedule for each configured repository that has one: its default branch goes through `start` like any other request. */
import { Aws } from 'aws-cdk-lib'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { CfnSchedule, CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { createHash } from 'node:crypto'
import type { Settings } from './settings.ts'

export interface NightlyProps {
  settings: Settings
  start: IFunction
  /** Where events go that could not be delivered. */
  deadLetters: Queue
}

export class Nightly extends Construct {
  constructor(scope: Construct, id: string, { settings, start, deadLetters }: NightlyProps) {
    super(scope, id)
    const scheduled = settings.repositories.flatMap(({ url, defaultBranch, schedule }) =>
      schedule ? [{ url, defaultBranch, schedule: { ...schedule, branch: schedule.branch ?? defaultBranch } }] : [],
    )
    if (!scheduled.length) return
    const group = new CfnScheduleGroup(this, 'Group', { name: `reviewloop-${settings.stage}` })
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', { conditions: { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } } }),
    })
    role.addToPolicy(new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [start.functionArn] }))
    role.addToPolicy(new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [deadLetters.queueArn] }))
    for (const { url, schedule } of scheduled) {
      // By the address, not by the place in the list: adding a repository leaves the others' schedules alone.
      const entry = new CfnSchedule(this, `Schedule${createHash('sha256').update(url).digest('hex').slice(0, 12)}`, {
        groupName: group.ref,
        description: `Review of ${url}, branch ${schedule.branch}`.slice(0, 512),
        scheduleExpression: schedule.expression,
        scheduleExpressionTimezone: schedule.timezone,
        flexibleTimeWindow: { mode: 'FLEXIBLE', maximumWindowInMinutes: 15 },
        target: {
          arn: start.functionArn,
          roleArn: role.roleArn,
          // The scheduler puts the time in: delivered twice, it is one night.
          input: JSON.stringify({ schedule: { repository: url, at: '<aws.scheduler.scheduled-time>' } }),
          retryPolicy: { maximumEventAgeInSeconds: 3600, maximumRetryAttempts: 5 },
          deadLetterConfig: { arn: deadLetters.queueArn },
        },
      })
      entry.node.addDependency(role)
    }
  }
}
