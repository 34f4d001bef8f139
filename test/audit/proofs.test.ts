import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { appendLeaf, leafHash, rootOf, type Tree } from '../../events/proof/merkle.ts';
import { openNote, parseCheckpoint, parseVerifierKey } from '../../events/proof/notes.ts';
import { loggedIn } from '../helpers/accounts.ts';
import { verifyConsistency, verifyInclusion } from '../helpers/proofs.ts';
import { apiKey } from '../helpers/service.ts';
import { errorsOf, sendRaw, useService } from '../helpers/shared.ts';

const config = `export default {
  bcryptCost: 4,
  audit: ({ apiKey, user }) => Boolean(apiKey) || (user?.email === 'auditor@example.org' ? ['headers'] : false),
  collections: [
    { slug: 'users', auth: { useAPIKey: true }, fields: [] },
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }] },
  ],
}`;
const service = useService(config, { ANNALS_THREADS: '1' });

type Bytes = { status: number; headers: Headers; bytes: Buffer };

/** Fetches an answer as bytes. */
async function get(path: string, headers: Record<string, string> = { 'x-api-key': apiKey }): Promise<Bytes> {
  const response = await fetch(`${service.url}/api/audit/${path}`, { headers });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

async function bytesOf(path: string): Promise<Buffer> {
  const { status, bytes } = await get(path);
  assert.equal(status, 200, `${path}: ${bytes}`);
  return bytes;
}

/** The note that the key in the vault signed; anything else fails. */
function headOf(note: string) {
  const db = new Database(join(service.data, 'vault.db'), { readonly: true });
  const key = db.prepare('SELECT verifier_key FROM log_keys').pluck().get() as string;
  db.close();
  const head = parseCheckpoint(openNote(note, [parseVerifierKey(key)])?.text ?? '');
  return head ?? assert.fail(`not to be believed: ${note}`);
}

async function checkpoint() {
  return headOf(`${await bytesOf('checkpoint')}`);
}

async function post(title: string): Promise<void> {
  assert.equal((await service.call('POST', '/api/collections/posts', { title })).status, 201);
}

/** Entries of a bundle (C2SP tlog-tiles). */
function entriesOf(bundle: Buffer): Buffer[] {
  const entries: Buffer[] = [];
  for (let at = 0; at < bundle.length; ) {
    const end = at + 2 + bundle.readUInt16BE(at);
    entries.push(bundle.subarray(at + 2, end));
    at = end;
  }
  return entries;
}

before(async () => {
  const titles = Array.from({ length: 270 }, (_, index) => `title ${index}`);
  while (titles.length > 0) await Promise.all(titles.splice(0, 30).map(post));
});

describe('GET /api/audit/checkpoint', () => {
  it('is a signed note of the log as it is', async () => {
    const { headers, bytes } = await get('checkpoint');
    assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8');
    assert.equal(headers.get('cache-control'), 'private, no-cache');
    const { origin, size } = headOf(`${bytes}`);
    assert.match(origin, /^annals\/[0-9a-f-]{36}$/);
    await post('one more');
    assert.equal((await checkpoint()).size, size + 1);
  });
});

describe('GET /api/audit/tile', () => {
  it('gives all that the tree is made of: entries, their hashes, and the hashes of full tiles', async () => {
    const { size, root } = await checkpoint();
    const bundles = await Promise.all(['tile/entries/000', `tile/entries/001.p/${size - 256}`].map(bytesOf));
    const entries = bundles.flatMap(entriesOf);
    const tree: Tree = { size: 0, nodes: [] };
    const nodes: Buffer[][] = [];
    for (const entry of entries) {
      appendLeaf(tree, leafHash(entry), (height, hash) => {
        nodes[height] ??= [];
        nodes[height]?.push(hash);
      });
    }
    assert.deepEqual([tree.size, rootOf(tree)], [size, root]);
    assert.equal(JSON.parse(`${entries[1]}`).position, 2);
    const leaves = await Promise.all(['tile/0/000', `tile/0/001.p/${size - 256}`].map(bytesOf));
    assert.deepEqual(Buffer.concat(leaves), Buffer.concat(nodes[0] ?? []));
    assert.deepEqual(await bytesOf('tile/1/000.p/1'), nodes[8]?.[0]);
    // A partial tile of a smaller tree is there too, also after it was filled.
    assert.deepEqual(await bytesOf('tile/0/000.p/3'), Buffer.concat((nodes[0] ?? []).slice(0, 3)));
  });

  it('may be kept for ever by its reader, and by no shared cache', async () => {
    for (const path of ['tile/0/000', 'tile/0/001.p/1', 'tile/entries/000']) {
      const { headers } = await get(path);
      assert.equal(headers.get('content-type'), 'application/octet-stream');
      assert.equal(headers.get('cache-control'), 'private, max-age=31536000, immutable');
    }
    const plain = await get('tile/entries/000', { 'x-api-key': apiKey, 'accept-encoding': 'identity' });
    assert.deepEqual(
      [plain.headers.get('content-encoding'), plain.headers.get('vary')],
      [null, 'accept-encoding,authorization,cookie,x-api-key'],
    );
    const packed = await get('tile/entries/000', { 'x-api-key': apiKey, 'accept-encoding': 'gzip' });
    assert.equal(packed.headers.get('content-encoding'), 'gzip');
    assert.deepEqual(packed.bytes, plain.bytes);
  });

  it('is not there beyond the newest checkpoint, nor under any other spelling', async () => {
    const { size } = await checkpoint();
    const odd = [
      '0/001',
      `0/001.p/${size - 255}`,
      'entries/001',
      `entries/001.p/${size - 255}`,
      '0/002.p/1',
      '1/000',
      '1/000.p/2',
      '2/000.p/1',
      '63/000.p/1',
      '64/000.p/1',
      '00/000',
      '-1/000',
      '0/0',
      '0/0000',
      '0/x000/000',
      '0/x001/000',
      '0/x999/x999/x999/x999/999',
      '0/x001/x001/x001/x001/x001/x001/001',
      '0/000.p/0',
      '0/000.p/01',
      '0/000.p/256',
      '0/000.p/',
      '0/000.p',
      '0/000/',
      '0/',
      '',
      'entries',
      'entries/0/000',
      'Entries/000',
      '0/000.p/1/..',
      '0/../0/000',
      './0/000',
      '0//000',
      '0/%30%30%30',
      '0/000%2ep/1',
      '0%2F000',
      '0/..%2f000',
      '0/%00',
      '%2e%2e/tile/0/000',
    ];
    for (const path of odd) {
      const head = `GET /api/audit/tile/${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\nconnection: close\r\n\r\n`;
      assert.equal((await sendRaw(service.url, head)).status, 404, path);
    }
  });
});

describe('GET /api/audit/proofs/{position}', () => {
  it('proves an event offline: the entry is in the text, and the checkpoint that it leads to', async () => {
    const { size } = await checkpoint();
    for (const position of [1, 2, 256, 257, size]) {
      const { headers, bytes } = await get(`proofs/${position}`);
      assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8');
      const [head = '', ...rest] = `${bytes}`.split('\n\n');
      const [version, extra = '', index, ...hashes] = head.split('\n');
      assert.deepEqual([version, index], ['c2sp.org/tlog-proof@v1', `index ${position - 1}`]);
      const entry = Buffer.from(extra.replace(/^extra /, ''), 'base64');
      assert.equal(JSON.parse(`${entry}`).position, position);
      const signed = headOf(rest.join('\n\n'));
      const proof = hashes.map((text) => Buffer.from(text, 'base64'));
      const place = { index: position - 1, size: signed.size };
      assert.ok(verifyInclusion(place, leafHash(entry), proof, signed.root));
    }
  });

  it('covers an event that was recorded just now, and comes as JSON too', async () => {
    await post('just now');
    const { size } = await checkpoint();
    await post('since the checkpoint');
    const { status, body } = await service.call('GET', `/api/audit/proofs/${size + 1}?format=json`);
    assert.equal(status, 200);
    const { index, size: of, header, leaf, proof, checkpoint: note } = body;
    assert.deepEqual([index, header.type, of >= size + 1], [size, 'document.created', true]);
    const hashes = proof.map((text: string) => Buffer.from(text, 'base64'));
    assert.ok(verifyInclusion({ index, size: of }, Buffer.from(leaf, 'base64'), hashes, headOf(note).root));
  });

  it('says what is wrong with what was asked', async () => {
    for (const position of ['0', '-1', '1.5', '1e3', 'x', '9007199254740993']) {
      const { status, body } = await service.call('GET', `/api/audit/proofs/${position}`);
      assert.equal(status, 400, position);
      assert.match(body.message, /^position must be one whole number from 1, got /);
    }
    const beyond = await service.call('GET', '/api/audit/proofs/1000000');
    assert.deepEqual([beyond.status, beyond.body.message], [404, 'there is no event 1000000 in the log']);
    const format = await service.call('GET', '/api/audit/proofs/1?format=jsn');
    assert.deepEqual(errorsOf(format), {
      format: 'format must be one of "tlog-proof", "json", got "jsn"; did you mean "json"?',
    });
    const unknown = await service.call('GET', '/api/audit/proofs/1?size=3');
    assert.match(unknown.body.errors[0].message, /^size is not a query parameter/);
  });
});

describe('GET /api/audit/consistency', () => {
  it('proves that the log has only grown', async () => {
    const now = await checkpoint();
    for (const from of [0, 1, 4, 200, 256, now.size]) {
      const { status, body } = await service.call('GET', `/api/audit/consistency?from=${from}&to=${now.size}`);
      assert.equal(status, 200);
      const [fromRoot, toRoot] = [body.fromRoot, body.toRoot].map((text) => Buffer.from(text, 'base64'));
      assert.deepEqual(toRoot, now.root);
      const proof = body.proof.map((text: string) => Buffer.from(text, 'base64'));
      assert.ok(verifyConsistency({ size: from, root: fromRoot as Buffer }, now, proof));
    }
    const { body } = await service.call('GET', '/api/audit/consistency?from=3');
    assert.deepEqual([body.from, body.to], [3, now.size]);
  });

  it('says what is wrong with what was asked', async () => {
    const { size } = await checkpoint();
    const cases: [string, string, string][] = [
      ['', 'from', 'from must be one whole number from 0, it is missing'],
      ['from=x', 'from', 'from must be one whole number from 0, got "x"'],
      ['from=3&to=2', 'to', 'to must not be less than from, 3, got 2'],
      [`from=3&to=${size + 1}`, 'to', `to must not be beyond the end of the log, got ${size + 1}`],
      [`from=${size + 1}`, 'from', `from must not be beyond the end of the log, got ${size + 1}`],
    ];
    for (const [query, field, message] of cases) {
      const answer = await service.call('GET', `/api/audit/consistency?${query}`);
      assert.deepEqual([answer.status, errorsOf(answer)], [400, { [field]: message }]);
    }
  });
});

describe('The right to see proofs', () => {
  const paths = ['checkpoint', 'stamps', 'tile/0/000', 'tile/nothing', 'proofs/1', 'proofs/x', 'consistency?from=1'];

  it('is that of the audit rule, with the scope headers', async () => {
    const account = { email: 'auditor@example.org', password: 'correct horse battery' };
    const other = { ...account, email: 'other@example.org' };
    const tokens: string[] = [];
    for (const one of [account, other]) {
      assert.equal((await service.call('POST', '/api/collections/users', one)).status, 201);
      tokens.push((await loggedIn(service, 'users', one.email, one.password)).token);
    }
    for (const path of paths) {
      assert.equal((await get(path, {})).status, 401, path);
      assert.equal((await get(path, { authorization: `Bearer ${tokens[1]}` })).status, 403, path);
    }
    for (const path of ['checkpoint', 'stamps', 'tile/0/000', 'proofs/1', 'consistency?from=1']) {
      assert.equal((await get(path, { authorization: `Bearer ${tokens[0]}` })).status, 200, path);
    }
  });
});
