/**
 * Stands in the bundles for parts of the AWS SDK that a function never reaches and that are not worth their weight: in Lambda
 * credentials come from the environment, the first place that the SDK looks, and no call of ours streams events.
 */
const unused = (name: string) => (): never => {
  throw new Error(`${name} is not part of this bundle`)
}

export const fromIni = unused('fromIni')
export const fromSSO = unused('fromSSO')
export const fromProcess = unused('fromProcess')
export const fromTokenFile = unused('fromTokenFile')
export const fromHttp = unused('fromHttp')
export const fromContainerMetadata = unused('fromContainerMetadata')
export const fromInstanceMetadata = unused('fromInstanceMetadata')
export const EventStreamSerde = unused('EventStreamSerde')
export const eventStreamSerdeProvider = unused('eventStreamSerdeProvider')
export const resolveEventStreamSerdeConfig = <T>(config: T): T => config
export const eventStreamPayloadHandlerProvider = unused('eventStreamPayloadHandlerProvider')
export const getEventStreamPlugin = unused('getEventStreamPlugin')
export const getWebSocketPlugin = unused('getWebSocketPlugin')
export const resolveEventStreamConfig = <T>(config: T): T => config
export const resolveWebSocketConfig = <T>(config: T): T => config
export const fromEnvSigningName = unused('fromEnvSigningName')
export const nodeProvider = unused('nodeProvider')
export const ENV_CMDS_FULL_URI = 'AWS_CONTAINER_CREDENTIALS_FULL_URI'
export const ENV_CMDS_RELATIVE_URI = 'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'
