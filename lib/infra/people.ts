/** The topic by which people are told. Teams subscribe what they like to it; addresses of the settings are subscribed here. */
import { Topic } from 'aws-cdk-lib/aws-sns'
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions'
import { Construct } from 'constructs'
import type { Settings } from './settings.ts'

export class People extends Construct {
  readonly topic: Topic

  constructor(scope: Construct, id: string, { stage, notify }: Pick<Settings, 'stage' | 'notify'>) {
    super(scope, id)
    this.topic = new Topic(this, 'Topic', { topicName: `reviewloop-${stage}`, displayName: 'reviewloop', enforceSSL: true })
    for (const email of notify.emails) this.topic.addSubscription(new EmailSubscription(email))
  }
}
