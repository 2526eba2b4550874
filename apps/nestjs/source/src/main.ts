// A Nest service built to CommonJS, with Nest's own shutdown hooks.
import 'reflect-metadata'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { WsAdapter } from '@nestjs/platform-ws'
import { CatsController } from './cats.controller'
import { EchoGateway } from './echo.gateway'
import { StreamsController } from './streams.controller'

@Module({ controllers: [CatsController, StreamsController], providers: [EchoGateway] })
class AppModule {}

async function start() {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] })
  app.useWebSocketAdapter(new WsAdapter(app))
  app.enableShutdownHooks()
  await app.listen(Number(process.env.PORT), '127.0.0.1')
}
void start()
