import type { AppDefinition, Stream } from '../runner/definition.ts'

const stream = (name: string, which: string): Stream => ({ kind: 'program', name, run: ['stream.mjs', which] })

export const app: AppDefinition = {
  title: 'gRPC',
  main: '@grpc/grpc-js',
  run: ['server.mjs'],
  paths: [],
  pathsProgram: ['calls.mjs'],
  streams: [
    stream('server stream, silences of 12 s', 'ticks'),
    stream('call answered after 15 s', 'later'),
    stream('bidirectional stream, silent for 12 s', 'echo'),
    stream('upload of 20 s', 'upload'),
    stream('download of 20 s', 'download'),
  ],
  protocol: 'grpc',
  dearest: { program: ['load.mjs'] },
}
