/** The two tables. Ids and states only; TTL is a backstop, expiry is checked on read. */
import { RemovalPolicy } from 'aws-cdk-lib'
import { AttributeType, BillingMode, ProjectionType, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb'
import { Construct } from 'constructs'
import { LISTED, TABLE } from '../names.ts'

export interface TablesProps {
  /** Whether the tables outlive the stack and refuse to be deleted. */
  protect: boolean
}

export class Tables extends Construct {
  readonly sessions: Table
  readonly runs: Table

  constructor(scope: Construct, id: string, props: TablesProps) {
    super(scope, id)
    const both = {
      partitionKey: { name: TABLE.pk, type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      encryption: TableEncryption.AWS_MANAGED,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      timeToLiveAttribute: TABLE.ttl,
      deletionProtection: props.protect,
      removalPolicy: props.protect ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    }
    this.sessions = new Table(this, 'Sessions', both)
    this.runs = new Table(this, 'Runs', { ...both, sortKey: { name: TABLE.sk, type: AttributeType.STRING } })
    this.runs.addGlobalSecondaryIndex({
      indexName: TABLE.runsByTime,
      partitionKey: { name: TABLE.sk, type: AttributeType.STRING },
      sortKey: { name: TABLE.createdAt, type: AttributeType.STRING },
      projectionType: ProjectionType.INCLUDE,
      nonKeyAttributes: [...LISTED],
    })
  }
}
