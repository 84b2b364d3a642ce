// An agent made with the JS SDK 0.3.14, over all bindings, which only takes and gives files: see conformance/README.md.
// Runs in the directory that has its packages.
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const load = createRequire(join(process.cwd(), 'package.json'));
const express = load('express');
const grpc = load('@grpc/grpc-js');
const server = load('@a2a-js/sdk/server');
const { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } = load('@a2a-js/sdk/server/express');
const { A2AService, grpcService } = load('@a2a-js/sdk/server/grpc');
const { dependencies } = load('./package.json');

/** Writes the files of a message to `in` of the directory PEER_FILES, each named by its place. */
function keep(parts) {
  const place = join(process.env.PEER_FILES, 'in');
  mkdirSync(place, { recursive: true });
  const files = parts.filter((part) => part.kind === 'file').map((part) => Buffer.from(part.file.bytes, 'base64'));
  files.forEach((content, number) => writeFileSync(join(place, String(number).padStart(3, '0')), content));
}

/** The files in `out` of that directory. */
function give() {
  const place = join(process.env.PEER_FILES, 'out');
  const contents = readdirSync(place).sort().map((name) => readFileSync(join(place, name)));
  return contents.map((content) => ({ kind: 'file', file: { bytes: content.toString('base64') } }));
}

class Peer {
  async execute({ taskId, contextId, userMessage }, bus) {
    const status = (state) => ({ state, timestamp: new Date().toISOString() });
    bus.publish({ kind: 'task', id: taskId, contextId, status: status('submitted'), history: [userMessage] });
    let parts = [{ kind: 'text', text: 'kept' }];
    if (userMessage.parts[0].text === 'give') parts = give();
    else keep(userMessage.parts);
    const artifact = { artifactId: randomUUID(), name: 'answer', parts };
    bus.publish({ kind: 'artifact-update', taskId, contextId, artifact, append: false, lastChunk: true });
    bus.publish({ kind: 'status-update', taskId, contextId, status: status('completed'), final: true });
    bus.finished();
  }

  async cancelTask() {}
}

const { values: asked } = parseArgs({ options: { url: { type: 'string' }, grpc: { type: 'string' } } });

const overGrpc = new grpc.Server();
const grpcPort = await new Promise((resolve, reject) => {
  const done = (error, port) => (error ? reject(error) : resolve(port));
  overGrpc.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), done);
});
const app = express();
const listener = await new Promise((resolve) => {
  const opened = app.listen(0, '127.0.0.1', () => resolve(opened));
});
const here = `http://127.0.0.1:${listener.address().port}`;
const grpcHere = `127.0.0.1:${grpcPort}`;
const url = asked.url ?? here;

const modes = ['text/plain', 'application/octet-stream'];
const card = {
  name: 'Peer',
  description: 'Takes and gives files.',
  version: '1.0.0',
  protocolVersion: '0.3.0',
  url: `${url}/rpc`,
  preferredTransport: 'JSONRPC',
  additionalInterfaces: [
    { transport: 'JSONRPC', url: `${url}/rpc` },
    { transport: 'HTTP+JSON', url: `${url}/rest` },
    { transport: 'GRPC', url: asked.grpc ?? grpcHere },
  ],
  capabilities: { streaming: true, pushNotifications: false },
  defaultInputModes: modes,
  defaultOutputModes: modes,
  skills: [{ id: 'files', name: 'Files', description: 'All of them.', tags: ['conformance'] }],
};
const requestHandler = new server.DefaultRequestHandler(card, new server.InMemoryTaskStore(), new Peer());
const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };

app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
app.use('/rpc', jsonRpcHandler(options));
app.use('/rest', restHandler(options));
overGrpc.addService(A2AService, grpcService(options));
console.log('ready', JSON.stringify({ url: here, grpc: grpcHere, peer: `js ${dependencies['@a2a-js/sdk']}` }));
