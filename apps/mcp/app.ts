import type { AppDefinition, Ask } from '../runner/definition.ts'
import { inPieces } from '../runner/usual-streams.ts'

const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }

/** A request to the endpoint without sessions, which makes a new MCP server for each request. */
const rpc = (method: string, params?: object, more?: Ask['headers']): Ask => ({
  method: 'POST',
  path: '/mcp',
  headers: { ...headers, ...more },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
})
const tool = (name: string, args: object = {}, meta?: object): Ask =>
  rpc('tools/call', { name, arguments: args, ...(meta && { _meta: meta }) })
const initialize = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'stranger', version: '1.0.0' },
}

export const app: AppDefinition = {
  title: 'MCP server',
  main: '@modelcontextprotocol/sdk',
  run: ['server.mjs'],
  ready: '/health',
  paths: [
    { path: '/health' },
    rpc('initialize', initialize),
    { method: 'POST', path: '/mcp', headers, body: '{"jsonrpc":"2.0","method":"notifications/initialized"}' },
    rpc('ping'),
    rpc('tools/list'),
    tool('greet', { name: 'stranger' }),
    tool('greet', { name: 7 }),
    tool('score', { of: 'stranger' }),
    tool('broken'),
    tool('unknown'),
    rpc('resources/list'),
    rpc('resources/read', { uri: 'people://7' }),
    rpc('resources/read', { uri: 'people://nobody' }),
    rpc('prompts/list'),
    rpc('prompts/get', { name: 'summary', arguments: { of: 'Tide' } }),
    rpc('unknown/method'),
    rpc('ping', undefined, { Accept: 'application/json' }),
    rpc('ping', undefined, { 'Content-Type': 'text/plain' }),
    rpc('ping', undefined, { Host: 'elsewhere.example' }),
    rpc('ping', undefined, { 'MCP-Protocol-Version': '1999-01-01' }),
    { method: 'POST', path: '/mcp', headers, body: '{"jsonrpc":' },
    { method: 'POST', path: '/mcp', headers, body: '{"no":"message"}' },
    { path: '/mcp', headers: { Accept: 'text/event-stream' } },
    { method: 'DELETE', path: '/mcp' },
    { method: 'POST', path: '/sessions', headers: { ...headers, 'Mcp-Session-Id': 'unknown' }, body: '{}' },
    { path: '/missing' },
  ],
  pathsProgram: ['calls.mjs'],
  streams: [
    inPieces('progress of a tool, silences of 12 s', tool('steps', {}, { progressToken: 'one' }), /^data:/),
    { kind: 'long-poll', name: 'tool that takes 15 s', ask: tool('later'), waitMs: 15_000 },
    { kind: 'program', name: 'session with an event stream, silent for 14 s', run: ['session.mjs'] },
    {
      kind: 'upload',
      name: 'call sent over 20 s',
      ask: { method: 'POST', path: '/mcp', headers },
      body: () => Buffer.from(tool('size', { text: 'slow '.repeat(18_000) }).body!),
      overMs: 20_000,
    },
  ],
  dearest: tool('score', { of: 'stranger' }),
}
