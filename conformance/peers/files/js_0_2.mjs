// Sends and reads files with the client of the JS SDK 0.2.5: see conformance/README.md.
// Runs in the directory that has its packages.
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { collect, olderContents, olderParts, options, sent, write } from './corpus.mjs';

const load = createRequire(join(process.cwd(), 'package.json'));
const { A2AClient } = load('@a2a-js/sdk/client');

const client = new A2AClient(options.url);
const params = () => ({
  message: { kind: 'message', messageId: randomUUID(), role: 'user', parts: olderParts() },
  configuration: { blocking: true, acceptedOutputModes: [] },
});

const { result: task } = await client.sendMessage(params());
sent(task.id);
write('answered', olderContents(task.artifacts));
write('got', olderContents((await client.getTask({ id: options.task })).result.artifacts));
const events = await collect(client.sendMessageStream(params()));
const updates = events.filter((event) => event.kind === 'artifact-update').map((event) => event.artifact);
write('streamed', olderContents(updates));
process.exit(0);
