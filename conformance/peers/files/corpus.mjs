// What the clients of the JS SDKs share: the files to send, and where to write those that come back.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

export const MEDIA_TYPE = 'application/octet-stream';

const named = ['url', 'binding', 'version', 'files', 'out', 'task'];
export const { values: options } = parseArgs({ options: Object.fromEntries(named.map((name) => [name, { type: 'string' }])) });

/** The contents of the files, in the order of their names. */
export const contents = readdirSync(options.files).sort().map((name) => readFileSync(join(options.files, name)));

/** Writes each content to a file named by its place. */
export function write(folder, all) {
  const place = join(options.out, folder);
  mkdirSync(place, { recursive: true });
  all.forEach((content, number) => writeFileSync(join(place, String(number).padStart(3, '0')), content));
}

/** Says under which task the files were sent. */
export function sent(task) {
  console.log(JSON.stringify({ sent: task }));
}

/** Parts of 0.x. */
export const olderParts = () => [
  { kind: 'text', text: 'file' },
  ...contents.map((content) => ({ kind: 'file', file: { bytes: content.toString('base64'), mimeType: MEDIA_TYPE } })),
];

/** The files in artifacts of 0.x. */
export const olderContents = (artifacts) =>
  artifacts.flatMap((artifact) => artifact.parts.map((part) => Buffer.from(part.file.bytes, 'base64')));

export async function collect(events) {
  const all = [];
  for await (const event of events) all.push(event);
  return all;
}
