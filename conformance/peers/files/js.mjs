// Sends and reads files with the client of the JS SDK 1.3.0, in 1.0 and 0.3: see conformance/README.md.
// Runs in the directory that has its packages.
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { MEDIA_TYPE, collect, contents, options, sent, write } from './corpus.mjs';

const load = createRequire(join(process.cwd(), 'package.json'));
const { SendMessageRequest } = load('@a2a-js/sdk');
const sdk = load('@a2a-js/sdk/client');
const { GrpcTransportFactory } = load('@a2a-js/sdk/client/grpc');
const { credentials } = load('@grpc/grpc-js');

const binding = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON', grpc: 'GRPC' }[options.binding];
const legacyCompat = { enabled: true };
const card = await new sdk.DefaultAgentCardResolver({ legacyCompat }).resolve(`${options.url}/`, '.well-known/agent-card.json');
// Only the interface that is asked for: the SDK prefers 1.0.
const fits = (i) => i.protocolBinding === binding && i.protocolVersion.startsWith(options.version);
card.supportedInterfaces = card.supportedInterfaces.filter(fits);
for (const one of card.supportedInterfaces) if (binding === 'GRPC') one.url = one.url.split('://').at(-1);
const transports = [
  new sdk.JsonRpcTransportFactory({ legacyCompat }),
  new sdk.RestTransportFactory({ legacyCompat }),
  new GrpcTransportFactory({ legacyCompat, grpcChannelCredentials: credentials.createInsecure() }),
];
const client = await new sdk.ClientFactory({ transports }).createFromAgentCard(card);

const ask = () => {
  const files = contents.map((content) => ({ raw: content.toString('base64'), mediaType: MEDIA_TYPE }));
  return SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'file' }, ...files] },
    configuration: { returnImmediately: false },
  });
};
const contentsOf = (artifacts) =>
  artifacts.flatMap((artifact) =>
    artifact.parts.map((part) => {
      if (part.content?.$case !== 'raw') throw new Error(`a part is ${part.content?.$case}`);
      return part.content.value;
    }));

const task = await client.sendMessage(ask());
sent(task.id);
write('answered', contentsOf(task.artifacts));
write('got', contentsOf((await client.getTask({ id: options.task, tenant: '' })).artifacts));
const events = await collect(client.sendMessageStream(ask()));
const updates = events.filter((event) => event.payload.$case === 'artifactUpdate');
write('streamed', contentsOf(updates.map((event) => event.payload.value.artifact)));
// Connections that are kept open must not keep the process alive.
process.exit(0);
