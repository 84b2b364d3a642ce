// The check of the JS SDK 1.3.0 on signed cards, one line for each address it is given: `good`, or what is wrong.
// Runs in the directory that has its packages.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const load = createRequire(join(process.cwd(), 'package.json'));
const { verifyAgentCardSignature } = load('@a2a-js/sdk');

const [jwks, ...cards] = process.argv.slice(2);
const read = async (url) => (await fetch(url)).json();
const { keys } = await read(jwks);
const verify = verifyAgentCardSignature(async (kid) => {
  const key = keys.find((key) => key.kid === kid);
  if (!key) throw new Error(`no key ${kid}`);
  return key;
});

// The SDK tells of each signature that is not good.
for (const name of ['debug', 'info', 'log', 'warn', 'error']) console[name] = () => {};
const say = (line) => process.stdout.write(`${line}\n`);
const isGood = (card) => verify(card).then(() => true, () => false);

for (const url of cards) {
  const card = await read(url);
  if (!(await isGood(card))) say(`${url}: no signature is good`);
  else if (await isGood({ ...card, description: 'Someone else' })) say(`${url}: a forged card is good`);
  else say('good');
}
