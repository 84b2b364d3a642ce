// Sends and reads files with the client of the JS SDK 0.3.14: see conformance/README.md.
// Runs in the directory that has its packages.
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { collect, olderContents, olderParts, options, sent, write } from './corpus.mjs';

const load = createRequire(join(process.cwd(), 'package.json'));
const sdk = load('@a2a-js/sdk/client');
const { GrpcTransportFactory } = load('@a2a-js/sdk/client/grpc');

const binding = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON', grpc: 'GRPC' }[options.binding];
const card = await new sdk.DefaultAgentCardResolver().resolve(`${options.url}/`, '.well-known/agent-card.json');
// Only the interface that is asked for.
const found = card.additionalInterfaces.find((one) => one.transport === binding);
const url = binding === 'GRPC' ? found.url.split('://').at(-1) : found.url;
Object.assign(card, { preferredTransport: binding, url, additionalInterfaces: [{ transport: binding, url }] });
const transports = [new sdk.JsonRpcTransportFactory(), new sdk.RestTransportFactory(), new GrpcTransportFactory()];
const client = await new sdk.ClientFactory({ transports }).createFromAgentCard(card);

const params = () => ({
  message: { kind: 'message', messageId: randomUUID(), role: 'user', parts: olderParts() },
  configuration: { blocking: true },
});

const task = await client.sendMessage(params());
sent(task.id);
write('answered', olderContents(task.artifacts));
write('got', olderContents((await client.getTask({ id: options.task })).artifacts));
const events = await collect(client.sendMessageStream(params()));
const updates = events.filter((event) => event.kind === 'artifact-update').map((event) => event.artifact);
write('streamed', olderContents(updates));
// Connections that are kept open must not keep the process alive.
process.exit(0);
