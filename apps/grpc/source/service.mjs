// The service of stranger.proto, and a client of it for the server ORIGIN names.
import grpc from '@grpc/grpc-js'
import loader from '@grpc/proto-loader'

const proto = grpc.loadPackageDefinition(loader.loadSync(`${import.meta.dirname}/stranger.proto`))
const { Stranger } = proto.stranger

export const service = Stranger.service

/** `options` of the channel: a pool of its own lets several clients have connections of their own. */
export const clientOf = (options = {}) =>
  new Stranger(new URL(process.env.ORIGIN).host, grpc.credentials.createInsecure(), options)
