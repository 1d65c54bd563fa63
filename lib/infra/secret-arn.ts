import * as z from 'zod'

/** The full ARN of a secret, with the six characters that Secrets Manager puts behind its name. */
export const secretArn = z
  .string()
  .regex(/^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[\w/+=.@-]+-[A-Za-z0-9]{6}$/, 'expected the full ARN of a secret')
