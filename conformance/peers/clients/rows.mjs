// What the column of the JS SDK needs: rows, cells, a receiver of webhooks, a proxy that cuts connections.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import net from 'node:net';
import { inspect, isDeepStrictEqual, parseArgs } from 'node:util';

export const ROWS = readFileSync(new URL('../rows.txt', import.meta.url), 'utf8').trim().split('\n');

const ROW_SECONDS = 30;

// What the agent makes of `stream`, and of `slow` piece by piece.
export const STREAMED = 'one two three';
export const SLOW = Array.from({ length: 20 }, (_, n) => `${n + 1} `).join('');

export const EXTENSION = 'https://example.com/extensions/polite/v1';
export const TOKEN = 'a-token-of-ours';

/** The card has no interface for this column. */
export class NotOffered extends Error {}

/** The SDK has no call for this row. */
export class NoCall extends Error {}

export function want(condition, what) {
  if (!condition) throw new Error(what);
}

export function same(found, wanted, what) {
  want(isDeepStrictEqual(found, wanted), `${what} is ${inspect(found)}, not ${inspect(wanted)}`);
}

export function options() {
  const text = { type: 'string' };
  const { values } = parseArgs({ options: { url: text, 'strict-url': text, binding: text, version: text } });
  for (const name of ['url', 'strict-url', 'binding', 'version']) {
    if (!values[name]) throw new Error(`--${name} is missing`);
  }
  return values;
}

/** Fills every cell of a column and prints each; `column` has a function for every row it knows. */
export async function run(peer, { binding, version }, column) {
  for (const row of ROWS) {
    const began = performance.now();
    const [outcome, detail] = await fill(column[row]);
    const ms = Math.round(performance.now() - began);
    console.log(JSON.stringify({ peer, role: 'client', binding, version, row, outcome, detail, ms }));
  }
}

async function fill(row) {
  if (!row) return ['none', 'the SDK has no call for it'];
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${ROW_SECONDS} s`)), ROW_SECONDS * 1000);
  });
  try {
    return ['ok', (await Promise.race([row(), late])) ?? ''];
  } catch (error) {
    if (error instanceof NotOffered) return ['not-offered', error.message];
    if (error instanceof NoCall) return ['none', error.message];
    return ['failed', `${error?.name}: ${error?.message}`];
  } finally {
    clearTimeout(timer);
  }
}

/** Takes webhooks and keeps them: headers, and the body as JSON. */
export class Receiver {
  static async start() {
    const receiver = new Receiver();
    receiver.received = [];
    receiver.changed = () => {};
    receiver.server = createServer((request, response) => {
      const pieces = [];
      request.on('data', (piece) => pieces.push(piece));
      request.on('end', () => {
        response.writeHead(204).end();
        receiver.received.push({ headers: request.headers, body: JSON.parse(Buffer.concat(pieces).toString()) });
        receiver.changed();
      });
    });
    receiver.url = `http://127.0.0.1:${await listen(receiver.server)}/hook`;
    return receiver;
  }

  /** Waits until `enough` says so of one of the bodies; all that came. */
  async until(enough) {
    while (!this.received.some(({ body }) => enough(body))) {
      await new Promise((resolve) => { this.changed = resolve; });
    }
    return this.received;
  }

  stop() {
    this.server.close();
    this.server.closeAllConnections();
  }
}

/** Passes bytes on to the agent, until it is told to cut what is open. */
export class Proxy {
  static async start(host, port) {
    const proxy = new Proxy();
    proxy.open = new Set();
    proxy.server = net.createServer((here) => {
      const there = net.connect(port, host);
      for (const [from, to] of [[here, there], [there, here]]) {
        proxy.open.add(from);
        from.on('close', () => { proxy.open.delete(from); to.destroy(); });
        from.on('error', () => {});
        from.pipe(to);
      }
    });
    proxy.port = await listen(proxy.server);
    return proxy;
  }

  cut() {
    for (const socket of this.open) socket.destroy();
  }

  stop() {
    this.server.close();
    this.cut();
  }
}

function listen(server) {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));
}
