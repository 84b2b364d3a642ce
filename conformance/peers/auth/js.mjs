// The JS SDK 1.3.0 shows a credential to an agent: it is asked for one, and tries again.
// Runs in the directory that has its packages.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const load = createRequire(join(process.cwd(), 'package.json'));
const { SendMessageRequest, TaskState } = load('@a2a-js/sdk');
const client = load('@a2a-js/sdk/client');

const text = { type: 'string' };
const { values: told } = parseArgs({ options: { url: text, binding: text, version: text, scheme: text } });
const credential = process.env.CREDENTIAL;
const legacyCompat = { enabled: true };

const card = await new client.DefaultAgentCardResolver({ legacyCompat }).resolve(`${told.url}/`, '.well-known/agent-card.json');
const fits = (i) => i.protocolBinding === told.binding && i.protocolVersion.startsWith(told.version);
card.supportedInterfaces = card.supportedInterfaces.filter(fits);

/** Shows the credential only when it is asked for, by the scheme that the card and the challenge name. */
const challenges = [];
const handler = {
  headers: async () => ({}),
  async shouldRetryWithHeaders(_, response) {
    if (response.status !== 401) return undefined;
    challenges.push(response.headers.get('www-authenticate'));
    const scheme = card.securitySchemes[told.scheme].scheme;
    assert.ok(scheme, `the card has no scheme ${told.scheme}`);
    return scheme.$case === 'apiKeySecurityScheme'
      ? { [scheme.value.name]: credential }
      : { Authorization: `Bearer ${credential}` };
  },
};

async function connect(fetchImpl) {
  const transports = [
    new client.JsonRpcTransportFactory({ legacyCompat, fetchImpl }),
    new client.RestTransportFactory({ legacyCompat, fetchImpl }),
  ];
  return new client.ClientFactory({ transports }).createFromAgentCard(card);
}

function ask() {
  return SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hello' }] },
  });
}

const unknown = await connect(fetch);
await assert.rejects(unknown.sendMessage(ask()), /401|authentication required/i);

const known = await connect(client.createAuthenticatingFetchWithRetry(fetch, handler));
const task = await known.sendMessage(ask());
assert.equal(task.status.state, TaskState.TASK_STATE_COMPLETED);
let last;
for await (const event of known.sendMessageStream(ask())) last = event;
assert.equal(last.payload.value.status.state, TaskState.TASK_STATE_COMPLETED);
assert.equal(challenges.length, 2);
for (const challenge of challenges) {
  assert.match(challenge, /Bearer realm="switchboard"/);
  assert.match(challenge, /ApiKey realm="switchboard"/);
}
console.log('ok');
