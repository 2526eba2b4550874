import { pbkdf2Sync } from 'node:crypto'
import {
  BadRequestException,
  Body,
  Controller,
  Delete,
  Get,
  Header,
  HttpCode,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post,
  Query,
  Redirect,
} from '@nestjs/common'

@Controller()
export class CatsController {
  #cats = [{ id: 1, name: 'Tide' }]

  @Get()
  hello() {
    return 'Nest says hello'
  }

  @Get('cats')
  all(@Query('name') name?: string) {
    return this.#cats.filter(cat => name === undefined || cat.name === name)
  }

  @Get('cats/:id')
  one(@Param('id', ParseIntPipe) id: number) {
    const cat = this.#cats.find(each => each.id === id)
    if (cat === undefined) throw new NotFoundException(`no cat ${id}`)
    return cat
  }

  @Post('cats')
  add(@Body() body: { name?: string }) {
    if (typeof body.name !== 'string') throw new BadRequestException('a cat needs a name')
    const cat = { id: this.#cats.length + 1, name: body.name }
    this.#cats.push(cat)
    return cat
  }

  @Delete('cats/:id')
  @HttpCode(204)
  remove(@Param('id', ParseIntPipe) id: number) {
    this.#cats = this.#cats.filter(cat => cat.id !== id)
  }

  @Get('page')
  @Header('Content-Type', 'text/html')
  page() {
    return `<ul>${this.#cats.map(cat => `<li>${cat.name}</li>`).join('')}</ul>`
  }

  @Get('moved')
  @Redirect('/cats', 301)
  moved() {}

  @Get('broken')
  broken() {
    throw new Error('broken on purpose')
  }

  @Get('score')
  score() {
    return { score: pbkdf2Sync('stranger', 'salt', 40_000, 32, 'sha256').toString('hex') }
  }
}
