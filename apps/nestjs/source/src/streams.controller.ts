import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { Controller, Get, Header, Post, Req, Res, Sse, StreamableFile } from '@nestjs/common'
import { map, take, timer } from 'rxjs'

const SILENCE_MS = 12_000

@Controller('streams')
export class StreamsController {
  @Sse('sse')
  sse() {
    return timer(0, SILENCE_MS).pipe(
      take(3),
      map(n => ({ data: { n } })),
    )
  }

  @Get('ndjson')
  async ndjson(@Res() response) {
    response.setHeader('Content-Type', 'application/x-ndjson')
    for (let n = 1; n <= 3; n++) {
      response.write(`${JSON.stringify({ n })}\n`)
      await sleep(SILENCE_MS)
    }
    response.end()
  }

  @Get('long')
  long() {
    return sleep(15_000, { waited: true })
  }

  @Get('download')
  @Header('Content-Length', `${32 << 20}`)
  download() {
    const block = Buffer.alloc(1 << 20, 'nest ')
    return new StreamableFile(Readable.from(Array.from({ length: 32 }, () => block)))
  }

  @Post('upload')
  async upload(@Req() request) {
    const hash = createHash('sha256')
    let bytes = 0
    for await (const chunk of request) {
      hash.update(chunk)
      bytes += chunk.length
    }
    return { bytes, sha256: hash.digest('hex') }
  }
}
