import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { TreeHead } from '../../events/proof/proofs.ts';
import { verifyConsistency } from './proofs.ts';

/** A key of a witness (C2SP tlog-cosignature, Ed25519), written from the specification without code of the product. */
export function createWitnessKey(name: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const typed = Buffer.concat([Buffer.of(4), publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)]);
  const id = createHash('sha256').update(`${name}\n`).update(typed).digest().subarray(0, 4);
  return { name, privateKey, id, verifierKey: `${name}+${id.toString('hex')}+${typed.toString('base64')}` };
}

export type WitnessSigner = ReturnType<typeof createWitnessKey>;

/** The signature line of a witness over a note, at a time. */
export function cosignature(note: string, { name, id, privateKey }: WitnessSigner, time: Date): string {
  const seconds = BigInt(Math.floor(time.getTime() / 1000));
  const stamp = Buffer.alloc(8);
  stamp.writeBigUInt64BE(seconds);
  const message = `cosignature/v1\ntime ${seconds}\n${note.slice(0, note.lastIndexOf('\n\n') + 1)}`;
  const bytes = Buffer.concat([id, stamp, sign(null, Buffer.from(message), privateKey)]);
  return `— ${name} ${bytes.toString('base64')}\n`;
}

type Said = { status: number; type?: string; body: string };

export type Witness = WitnessSigner & {
  /** The address before `add-checkpoint`. */
  url: string;
  /** The newest head of the log that the witness has seen. */
  seen: TreeHead | null;
  /** The status of each answer, and the old size that its request named. */
  answers: { status: number; old: number }[];
  /** If given, this function answers in place of the witness. */
  instead: ((body: string) => Said) | null;
  now: () => Date;
};

/** A witness of one log (C2SP tlog-witness), over HTTP. `trust` gives it the key of the log. */
export async function startWitness(t: TestContext, name = 'witness.example/w1') {
  const key = createWitnessKey(name);
  let logKey: { name: string; key: KeyObject } | null = null;
  const server: Server = createServer(async (request, response) => {
    const body = (await request.toArray()).join('');
    const isRight = request.method === 'POST' && request.url === '/at/add-checkpoint';
    const { status, type = 'text/plain', body: said } = isRight ? (witness.instead ?? answer)(body) : notFound;
    witness.answers.push({ status, old: Number(/^old (\d+)\n/.exec(body)?.[1]) });
    response.writeHead(status, { 'content-type': type }).end(said);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const witness: Witness = {
    ...key,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/at`,
    seen: null,
    answers: [],
    instead: null,
    now: () => new Date(),
  };

  function answer(body: string): Said {
    const end = body.indexOf('\n\n');
    const [first = '', ...proof] = body.slice(0, end).split('\n');
    const note = body.slice(end + 2);
    const text = note.slice(0, note.lastIndexOf('\n\n') + 1);
    const [origin, size, root = ''] = text.split('\n');
    const old = Number(/^old (0|[1-9]\d*)$/.exec(first)?.[1] ?? Number.NaN);
    if (origin !== logKey?.name) return notFound;
    if (!isSigned(note, text)) return { status: 403, body: 'not signed' };
    if (Number.isNaN(old) || old > Number(size)) return { status: 400, body: 'no old size' };
    const known = witness.seen ?? { size: 0, root: createHash('sha256').digest() };
    if (old !== known.size) return { status: 409, type: 'text/x.tlog.size', body: `${known.size}\n` };
    const now = { size: Number(size), root: Buffer.from(root, 'base64') };
    if (old === now.size && !now.root.equals(known.root)) return { status: 409, body: 'another root' };
    const hashes = proof.map((line) => Buffer.from(line, 'base64'));
    const fits = known.size === 0 ? proof.length === 0 : verifyConsistency(known, now, hashes);
    if (!fits) return { status: 422, body: 'no proof' };
    witness.seen = now;
    return { status: 200, body: `— somebody.else AAAAAAA=\n${cosignature(note, key, witness.now())}` };
  }

  function isSigned(note: string, text: string): boolean {
    const [, , encoded = ''] = (note.slice(text.length + 1).split('\n')[0] ?? '').split(' ');
    return logKey !== null && verify(null, Buffer.from(text), logKey.key, Buffer.from(encoded, 'base64').subarray(4));
  }

  function trust(verifierKey: string): void {
    const [logName = '', , encoded = ''] = /^([^+]+)\+([^+]+)\+(.*)$/.exec(verifierKey)?.slice(1) ?? [];
    const der = Buffer.concat([
      Buffer.from('302a300506032b6570032100', 'hex'),
      Buffer.from(encoded, 'base64').subarray(1),
    ]);
    logKey = { name: logName, key: createPublicKey({ key: der, format: 'der', type: 'spki' }) };
  }

  return Object.assign(witness, { trust, setting: `${key.verifierKey}=${witness.url}` });
}

const notFound: Said = { status: 404, body: 'unknown log' };
