// The client of the JS SDK 1.3.0 against an agent, one cell a line: see conformance/README.md.
// Runs in the directory that has its packages.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { EXTENSION, NoCall, NotOffered, Proxy, Receiver, SLOW, STREAMED, TOKEN, options, run, same, want } from './rows.mjs';

const load = createRequire(join(process.cwd(), 'package.json'));
const { Role, SendMessageRequest, StreamResponse, TaskState } = load('@a2a-js/sdk');
const client = load('@a2a-js/sdk/client');
const { GrpcTransportFactory } = load('@a2a-js/sdk/client/grpc');
const errors = load('@a2a-js/sdk/errors');
const { credentials } = load('@grpc/grpc-js');
const { dependencies } = load('./package.json');

const asked = options();
const binding = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON', grpc: 'GRPC' }[asked.binding];
const old = asked.version === '0.3';
const legacyCompat = { enabled: true };
const over = [TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_FAILED, TaskState.TASK_STATE_CANCELED];

/** The card at an address, with the interfaces of this column only: the SDK prefers 1.0. */
async function cardAt(url) {
  const card = await new client.DefaultAgentCardResolver({ legacyCompat }).resolve(`${url}/`, '.well-known/agent-card.json');
  const fits = (i) => i.protocolBinding === binding && i.protocolVersion.startsWith(asked.version);
  card.supportedInterfaces = card.supportedInterfaces.filter(fits);
  if (!card.supportedInterfaces.length) throw new NotOffered(`the card offers no ${binding} ${asked.version}`);
  return card;
}

async function connect(url = asked.url, fetchImpl = undefined) {
  const transports = [
    new client.JsonRpcTransportFactory({ legacyCompat, fetchImpl }),
    new client.RestTransportFactory({ legacyCompat, fetchImpl }),
    new GrpcTransportFactory({ legacyCompat, grpcChannelCredentials: credentials.createInsecure() }),
  ];
  return new client.ClientFactory({ transports }).createFromAgentCard(await cardAt(url));
}

function ask(parts, { task, context, atOnce = false, webhook } = {}) {
  return SendMessageRequest.fromJSON({
    message: {
      messageId: randomUUID(),
      role: 'ROLE_USER',
      parts: [parts].flat().map((part) => (typeof part === 'string' ? { text: part } : part)),
      contextId: task?.contextId ?? context,
      taskId: task?.id,
    },
    configuration: { returnImmediately: atOnce, taskPushNotificationConfig: webhook },
  });
}

const text = (part) => (part.content?.$case === 'text' ? part.content.value : '');
const answer = (task) => task.artifacts.flatMap((artifact) => artifact.parts.map(text)).join('');
const state = (task) => TaskState[task.status.state];

/** A call that waits; the task. */
async function send(parts, how) {
  const task = await (await connect()).sendMessage(ask(parts, how));
  want(task.status, `the answer is no task but ${JSON.stringify(task)}`);
  return task;
}

/** A task as the events of a stream make it. */
class Fold {
  kinds = [];

  add(event) {
    const { $case: kind, value } = event.payload;
    this.kinds.push(kind);
    if (kind === 'task') this.task = value;
    else if (kind === 'statusUpdate') this.task.status = value.status;
    else if (kind === 'artifactUpdate') this.addArtifact(value);
  }

  addArtifact({ artifact, append }) {
    const known = this.task.artifacts.find((one) => one.artifactId === artifact.artifactId);
    if (append) {
      want(known, 'a chunk was appended to nothing');
      known.parts.push(...artifact.parts);
    } else {
      this.task.artifacts = [...this.task.artifacts.filter((one) => one !== known), artifact];
    }
  }

  async addAll(events) {
    for await (const event of events) this.add(event);
    return this;
  }

  check(wanted) {
    want(this.task, `there was no task in ${this.kinds}`);
    same(state(this.task), 'TASK_STATE_COMPLETED', 'the last state');
    same(answer(this.task), wanted, 'the answer');
  }
}

async function collect(events) {
  const all = [];
  for await (const event of events) all.push(event);
  return all;
}

/** A call, or the reading of a stream, that must fail in this way. */
async function refused(call, kind) {
  let result;
  try {
    result = call[Symbol.asyncIterator] ? await collect(call) : await call;
  } catch (error) {
    if (error instanceof kind) return;
    throw error;
  }
  throw new Error(`it was not refused: ${JSON.stringify(result)}`.slice(0, 300));
}

async function converse() {
  const task = await send('input');
  same(state(task), 'TASK_STATE_INPUT_REQUIRED', 'the state');
  same(text(task.status.message.parts[0]), 'which colour?', 'the question');
  const done = await send('blue', { task });
  same(done.id, task.id, 'the task');
  same(state(done), 'TASK_STATE_COMPLETED', 'the state');
  same(answer(done), 'you chose blue', 'the answer');
  return done;
}

const rows = {
  async card() {
    const card = await cardAt(asked.url);
    same(card.name, 'Peer', 'the name');
    want(card.capabilities.streaming && card.capabilities.pushNotifications, 'a capability is missing');
    same(card.skills.map((skill) => skill.id), ['words'], 'the skills');
  },

  async 'send-task'() {
    const task = await send('hello world');
    same(state(task), 'TASK_STATE_COMPLETED', 'the state');
    same(answer(task), 'echo: hello world', 'the answer');
    want(task.id && task.contextId, 'an id is missing');
  },

  async 'send-message'() {
    const message = await (await connect()).sendMessage(ask('msg hi'));
    want(message.messageId, `the answer is no message but ${JSON.stringify(message)}`);
    same(message.parts.map(text), ['echo: msg hi'], 'the text');
    same(message.role, Role.ROLE_AGENT, 'the role');
  },

  async 'two-parts'() {
    same(answer(await send(['hello', 'there'])), 'echo: hello\nthere', 'the answer');
  },

  async file() {
    const parts = [
      'file',
      { raw: 'AAH+/w==', filename: 'four.bin', mediaType: 'application/octet-stream' },
      { url: 'https://example.com/a.txt', filename: 'a.txt', mediaType: 'text/plain' },
    ];
    const task = await send(parts);
    const [bytes, link] = task.artifacts[0].parts;
    same([bytes.content.$case, [...bytes.content.value]], ['raw', [0, 1, 254, 255]], 'the bytes');
    // The .proto file of 0.3 has no name of a file, so ProtoJSON of ours has none.
    const named = (name) => (old && binding === 'HTTP+JSON' ? '' : name);
    same([bytes.filename, bytes.mediaType], [named('four.bin'), 'application/octet-stream'], 'the file');
    same(link.content, { $case: 'url', value: 'https://example.com/a.txt' }, 'the link');
    same([link.filename, link.mediaType], [named('a.txt'), 'text/plain'], 'the linked file');
  },

  async data() {
    const value = { n: 5, half: 0.5, list: [1, 'x', null], deep: { yes: true } };
    const task = await send(['data', { data: value }]);
    same(task.artifacts[0].parts[0].content, { $case: 'data', value }, 'the data');
  },

  async failure() {
    const task = await send('fail');
    same(state(task), 'TASK_STATE_FAILED', 'the state');
    same(text(task.status.message.parts[0]), 'it failed', 'the reason');
  },

  async 'return-at-once'() {
    const task = await send('long', { atOnce: true });
    want(!over.includes(task.status.state), `it is over: ${state(task)}`);
  },

  async stream() {
    const fold = await new Fold().addAll((await connect()).sendMessageStream(ask('stream')));
    fold.check(STREAMED);
    same(fold.kinds.filter((kind) => kind === 'artifactUpdate').length, 3, 'the number of chunks');
  },

  async 'stream-message'() {
    const events = await collect((await connect()).sendMessageStream(ask('msg hi')));
    same(events.map((event) => event.payload.$case), ['message'], 'the answer');
  },

  async subscribe() {
    const { id } = await send('slow', { atOnce: true });
    (await new Fold().addAll((await connect()).resubscribeTask({ id, tenant: '' }))).check(SLOW);
  },

  async 'subscribe-after-cut'() {
    const { hostname, port } = new URL(asked.url);
    const proxy = await Proxy.start(hostname, port);
    try {
      const url = Object.assign(new URL(asked.url), { port: proxy.port }).href;
      const [fold, peer] = [new Fold(), await connect(url)];
      try {
        for await (const event of peer.sendMessageStream(ask('slow'))) {
          fold.add(event);
          if (fold.kinds.length === 5) proxy.cut();
        }
      } catch {
        // This is the cut.
      }
      want(fold.task && !over.includes(fold.task.status.state), 'the stream was not cut');
      await fold.addAll((await connect(url)).resubscribeTask({ id: fold.task.id, tenant: '' }));
      fold.check(SLOW);
    } finally {
      proxy.stop();
    }
  },

  async 'input-required'() {
    await converse();
  },

  async cancel() {
    const { id } = await send('long', { atOnce: true });
    const peer = await connect();
    same(state(await peer.cancelTask({ id, tenant: '', metadata: undefined })), 'TASK_STATE_CANCELED', 'the state');
    same(state(await peer.getTask({ id, tenant: '' })), 'TASK_STATE_CANCELED', 'the state that is kept');
  },

  async 'get-history'() {
    const { id } = await converse();
    const peer = await connect();
    const whole = await peer.getTask({ id, tenant: '' });
    const said = whole.history.filter((message) => message.role === Role.ROLE_USER);
    same(said.map((message) => text(message.parts[0])), ['input', 'blue'], 'what the user said');
    const last = await peer.getTask({ id, tenant: '', historyLength: 1 });
    same(last.history, whole.history.slice(-1), 'the history of length 1');
  },

  async list() {
    if (old) throw new NoCall('0.3 cannot list tasks');
    const contextId = randomUUID();
    const made = [];
    for (let n = 0; n < 3; n++) made.push((await send('hello', { context: contextId })).id);
    const peer = await connect();
    const page = (pageToken) => peer.listTasks({ tenant: '', contextId, pageSize: 2, pageToken, status: TaskState.TASK_STATE_UNSPECIFIED });
    const first = await page('');
    same([first.tasks.length, first.totalSize], [2, 3], 'the first page');
    want(first.nextPageToken, 'there is no second page');
    const second = await page(first.nextPageToken);
    same(second.nextPageToken, '', 'the token of the last page');
    same([...first.tasks, ...second.tasks].map((task) => task.id).sort(), made.sort(), 'the tasks');
  },

  async 'push-configs'() {
    const { id: taskId } = await send('long', { atOnce: true });
    const peer = await connect();
    const url = 'http://127.0.0.1:1/hook';
    const config = { tenant: '', taskId, id: 'mine', url, token: TOKEN, authentication: undefined };
    const made = await peer.createTaskPushNotificationConfig(config);
    same([made.id, made.url], ['mine', url], 'what was made');
    const one = { tenant: '', taskId, id: 'mine' };
    same((await peer.getTaskPushNotificationConfig(one)).url, url, 'what was found');
    const all = { tenant: '', taskId, pageSize: 0, pageToken: '' };
    const listed = await peer.listTaskPushNotificationConfig(all);
    same(listed.configs.map((found) => found.id), ['mine'], 'the list');
    await peer.deleteTaskPushNotificationConfig(one);
    same((await peer.listTaskPushNotificationConfig(all)).configs.length, 0, 'the length after deletion');
    await peer.cancelTask({ id: taskId, tenant: '', metadata: undefined });
  },

  async 'push-delivered'() {
    const receiver = await Receiver.start();
    try {
      const { id } = await send('stream', { atOnce: true, webhook: { url: receiver.url, token: TOKEN } });
      if (old) {
        const received = await receiver.until((body) => body.status?.state === 'completed');
        const task = received.at(-1).body;
        const said = task.artifacts.flatMap((artifact) => artifact.parts.map((part) => part.text)).join('');
        same([task.kind, task.id, said], ['task', id, STREAMED], 'the task');
      } else {
        const done = (body) => body.statusUpdate?.status?.state === 'TASK_STATE_COMPLETED';
        const fold = new Fold();
        for (const { body } of await receiver.until(done)) fold.add(StreamResponse.fromJSON(body));
        fold.check(STREAMED);
        same(fold.task.id, id, 'the task');
      }
      for (const { headers } of receiver.received) same(headers['x-a2a-notification-token'], TOKEN, 'the token');
    } finally {
      receiver.stop();
    }
  },

  async 'extended-card'() {
    const peer = await connect();
    // It is for those who are known, and nobody is known here.
    await refused(peer.getAgentCard(), Error);
    return 'refused, as it must be';
  },

  async 'task-not-found'() {
    const peer = await connect();
    const id = randomUUID();
    await refused(peer.getTask({ id, tenant: '' }), errors.TaskNotFoundError);
    await refused(peer.cancelTask({ id, tenant: '', metadata: undefined }), errors.TaskNotFoundError);
    await refused(peer.resubscribeTask({ id, tenant: '' }), errors.TaskNotFoundError);
  },

  async 'not-cancelable'() {
    const { id } = await send('hello');
    await refused((await connect()).cancelTask({ id, tenant: '', metadata: undefined }), errors.TaskNotCancelableError);
  },

  async 'terminal-refused'() {
    const task = await send('hello');
    const peer = await connect();
    await refused(peer.sendMessage(ask('more', { task })), errors.UnsupportedOperationError);
    await refused(peer.resubscribeTask({ id: task.id, tenant: '' }), errors.UnsupportedOperationError);
  },

  async 'bad-params'() {
    const peer = await connect();
    await refused(peer.sendMessage(ask([])), errors.RequestMalformedError);
    await refused(peer.sendMessageStream(ask([])), errors.RequestMalformedError);
  },

  async 'unknown-version'() {
    if (binding === 'GRPC') throw new NoCall('the SDK always says the version itself');
    // The SDK says the version itself, so it is changed on its way out.
    const changed = (url, init) => fetch(url, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), 'a2a-version': '7.0' } });
    await refused((await connect(asked.url, changed)).getTask({ id: 'any', tenant: '' }), errors.VersionNotSupportedError);
  },

  async 'required-extension'() {
    const peer = await connect(asked['strict-url']);
    await refused(peer.sendMessage(ask('hello')), errors.ExtensionSupportRequiredError);
    const serviceParameters = client.ServiceParameters.create(client.withA2AExtensions(EXTENSION));
    same(answer(await peer.sendMessage(ask('hello'), { serviceParameters })), 'echo: hello', 'the answer');
  },
};

await run(`js ${dependencies['@a2a-js/sdk']}`, asked, rows);
// Connections that are kept open must not keep the process alive.
process.exit(0);
