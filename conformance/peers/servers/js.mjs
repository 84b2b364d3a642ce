// An agent made with the JS SDK 1.3.0, in 1.0 and 0.3, over all bindings: see conformance/README.md.
// Runs in the directory that has its packages.
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const load = createRequire(join(process.cwd(), 'package.json'));
const express = load('express');
const grpc = load('@grpc/grpc-js');
const { AgentCard, Role, TaskState } = load('@a2a-js/sdk');
const server = load('@a2a-js/sdk/server');
const { agentCardHandler, jsonRpcHandler, restHandler } = load('@a2a-js/sdk/server/express');
const { A2AService, grpcService } = load('@a2a-js/sdk/server/grpc');
const { LegacyA2AService, legacyGrpcService } = load('@a2a-js/sdk/compat/v0_3/server/grpc');
const { dependencies } = load('./package.json');

const STREAMED = ['one ', 'two ', 'three'];
const SLOW = Array.from({ length: 20 }, (_, n) => `${n + 1} `);
const EXTENSION = 'https://example.com/extensions/polite/v1';

const textPart = (value) => ({ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' });

/** Writes the files of a message to `in` of the directory PEER_FILES, each named by its place. */
function keep(contents) {
  const place = join(process.env.PEER_FILES, 'in');
  mkdirSync(place, { recursive: true });
  contents.forEach((content, number) => writeFileSync(join(place, String(number).padStart(3, '0')), content));
}

/** The contents of the files in `out` of that directory. */
function give() {
  const place = join(process.env.PEER_FILES, 'out');
  return readdirSync(place).sort().map((name) => readFileSync(join(place, name)));
}

class Peer {
  canceled = new Set();

  async execute(context, bus) {
    const { taskId, contextId, userMessage, task } = context;
    const text = userMessage.parts.map((part) => (part.content?.$case === 'text' ? part.content.value : '')).join('\n');
    const word = text.split(/\s+/)[0];
    const say = (words) => ({
      messageId: randomUUID(), role: Role.ROLE_AGENT, parts: [textPart(words)], contextId, taskId, metadata: undefined,
      extensions: [], referenceTaskIds: [],
    });
    if (word === 'msg') {
      bus.publish(server.AgentEvent.message(say(`echo: ${text}`)));
      bus.finished();
      return;
    }
    if (word === 'raise') throw new Error('the agent raised');
    const status = (state, message) => ({ state, message, timestamp: new Date().toISOString() });
    const becomes = (state, message) =>
      bus.publish(server.AgentEvent.statusUpdate({ taskId, contextId, status: status(state, message), metadata: undefined }));
    const hands = (parts, append = false, lastChunk = true) => {
      const artifact = { artifactId: 'answer', name: 'answer', description: '', parts, metadata: undefined, extensions: [] };
      bus.publish(server.AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk, metadata: undefined }));
    };
    if (!task) {
      const submitted = status(TaskState.TASK_STATE_SUBMITTED);
      bus.publish(server.AgentEvent.task({ id: taskId, contextId, status: submitted, artifacts: [], history: [userMessage], metadata: undefined }));
    }
    becomes(TaskState.TASK_STATE_WORKING);
    if (task) hands([textPart(`you chose ${text}`)]);
    else if (word === 'input') {
      becomes(TaskState.TASK_STATE_INPUT_REQUIRED, say('which colour?'));
      bus.finished();
      return;
    } else if (word === 'fail') {
      becomes(TaskState.TASK_STATE_FAILED, say('it failed'));
      bus.finished();
      return;
    } else if (word === 'long') {
      while (!this.canceled.has(taskId)) await sleep(20);
      becomes(TaskState.TASK_STATE_CANCELED);
      bus.finished();
      return;
    } else if (word === 'stream' || word === 'slow') {
      const pieces = word === 'slow' ? SLOW : STREAMED;
      for (const [number, piece] of pieces.entries()) {
        hands([textPart(piece)], number > 0, number === pieces.length - 1);
        if (word === 'slow') await sleep(100);
      }
    } else if (word === 'keep') {
      keep(userMessage.parts.filter((part) => part.content?.$case === 'raw').map((part) => part.content.value));
      hands([textPart('kept')]);
    } else if (word === 'give') {
      hands(give().map((value) => ({ ...textPart(''), content: { $case: 'raw', value } })));
    } else if (word === 'file' || word === 'data') {
      hands(userMessage.parts.filter((part) => part.content?.$case !== 'text'));
    } else hands([textPart(`echo: ${text}`)]);
    becomes(TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  }

  async cancelTask(taskId) {
    this.canceled.add(taskId);
  }
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

function card(description, extensions = []) {
  const bindings = [['JSONRPC', `${url}/rpc`], ['HTTP+JSON', `${url}/rest`], ['GRPC', asked.grpc ?? grpcHere]];
  const modes = ['text/plain', 'application/json', 'application/octet-stream'];
  return AgentCard.fromJSON({
    name: 'Peer',
    description,
    version: '1.0.0',
    supportedInterfaces: ['1.0', '0.3'].flatMap((protocolVersion) =>
      bindings.map(([protocolBinding, at]) => ({ url: at, protocolBinding, protocolVersion }))),
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true, extensions },
    defaultInputModes: modes,
    defaultOutputModes: modes,
    skills: [{ id: 'words', name: 'Words', description: 'All of them.', tags: ['conformance'] }],
  });
}

const configs = new server.InMemoryPushNotificationStore();
const requestHandler = new server.DefaultRequestHandler(
  card('Does what the first word says.'), new server.InMemoryTaskStore(), new Peer(), undefined, configs,
  new server.DefaultPushNotificationSender(configs), card('The same, and more.'));
const strict = card('Wants an extension.', [{ uri: EXTENSION, required: true }]);
// It gives the extended card to those it knows.
const userBuilder = async () => ({ isAuthenticated: true, userName: 'peer' });
const options = { requestHandler, userBuilder, legacyCompat: { enabled: true } };

app.use('/.well-known/agent-card.json', agentCardHandler({ ...options, agentCardProvider: requestHandler }));
app.use('/strict/.well-known/agent-card.json', agentCardHandler({ ...options, agentCardProvider: async () => strict }));
app.use('/rpc', jsonRpcHandler(options));
app.use('/rest', restHandler(options));
overGrpc.addService(A2AService, grpcService(options));
overGrpc.addService(LegacyA2AService, legacyGrpcService(options));
console.log('ready', JSON.stringify({ url: here, grpc: grpcHere, peer: `js ${dependencies['@a2a-js/sdk']}` }));
