import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'

@WebSocketGateway({ path: '/ws' })
export class EchoGateway {
  @SubscribeMessage('echo')
  echo(@MessageBody() data: string) {
    return { event: 'echoed', data }
  }
}
