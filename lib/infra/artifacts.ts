/** The bucket of immutable objects. Not versioned: no object is ever overwritten, and what is deleted is to be gone. */
import { Duration, RemovalPolicy } from 'aws-cdk-lib'
import { BlockPublicAccess, Bucket, BucketEncryption, type IBucket, ObjectOwnership } from 'aws-cdk-lib/aws-s3'
import { Construct } from 'constructs'
import { ARTIFACTS, type ArtifactKind } from '../names.ts'
import type { Settings } from './settings.ts'

export interface ArtifactsProps {
  protect: boolean
  retention: Settings['retention']
}

/** Close deletes transcripts and unfinished work itself; for runs that never closed these rules are the backstop. */
const WORK: readonly ArtifactKind[] = ['source', 'transcripts', 'work', 'uploads']

export class Artifacts extends Construct {
  readonly bucket: IBucket

  constructor(scope: Construct, id: string, props: ArtifactsProps) {
    super(scope, id)
    const both = {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      removalPolicy: props.protect ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    }
    const accessLogs = new Bucket(this, 'AccessLogs', {
      ...both,
      // S3 delivers its logs to a bucket of no other encryption.
      encryption: BucketEncryption.S3_MANAGED,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      lifecycleRules: [{ id: 'expire', expiration: Duration.days(props.retention.logDays) }],
    })
    this.bucket = new Bucket(this, 'Bucket', {
      ...both,
      // The account's own key for S3, as the tables have theirs: who may use S3's objects may use it, and nobody from outside.
      encryption: BucketEncryption.KMS_MANAGED,
      bucketKeyEnabled: true,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      // The library's classes and interfaces disagree on what may be undefined.
      serverAccessLogsBucket: accessLogs as IBucket,
      lifecycleRules: [
        { id: 'unfinished-uploads', abortIncompleteMultipartUploadAfter: Duration.days(1) },
        ...ARTIFACTS.map((kind) => ({
          id: kind,
          prefix: `${kind}/`,
          expiration: Duration.days(WORK.includes(kind) ? props.retention.workDays : props.retention.recordDays),
        })),
      ],
    }) as IBucket
  }
}
