// The service of stranger.proto, and its client for the server in ORIGIN.
import grpc from '@grpc/grpc-js'
import loader from '@grpc/proto-loader'

const proto = grpc.loadPackageDefinition(loader.loadSync(`${import.meta.dirname}/stranger.proto`))
const { Stranger } = proto.stranger

export const service = Stranger.service

/** `options` are those of the channel. A local subchannel pool gives each client its own connection. */
export const clientOf = (options = {}) =>
  new Stranger(new URL(process.env.ORIGIN).host, grpc.credentials.createInsecure(), options)
