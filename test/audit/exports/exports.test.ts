import assert from 'node:assert/strict';
import { hash, randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CoMETRE } from '@transmute/rfc9162';
import Ajv from 'ajv';
import addFormats from 'ajv-formats';
import canonicalizeModule from 'canonicalize';
import { run as verify } from '../../../verify/annals-verify.mjs';
import { bearer, login } from '../../helpers/accounts.ts';
import { useServiceHere } from '../../helpers/embedded.ts';
import { assertRecorded } from '../../helpers/recorded.ts';
import { type Answer, apiKey, type CallOptions } from '../../helpers/service.ts';
import { dial, errorsOf, eventually, recordedEvents, useFolder } from '../../helpers/shared.ts';
import { unzip } from '../../helpers/unzip.ts';

/** The header of a caller names its scopes; without the header, an API key may do everything. */
const config = `
export default {
  bcryptCost: 4,
  collections: [
    { slug: 'posts', fields: [{ name: 'title', type: 'text', unique: true }, { name: 'body', type: 'textarea' }] },
    { slug: 'media', upload: true, fields: [{ name: 'alt', type: 'text' }] },
    { slug: 'users', auth: { useAPIKey: false }, access: { create: () => true }, fields: [{ name: 'name', type: 'text' }] },
  ],
  globals: [{ slug: 'settings', fields: [{ name: 'motto', type: 'text' }] }],
  audit: ({ apiKey, req }) => req.headers['x-scopes']?.split(' ') ?? apiKey !== null,
  erase: ({ user }) => user?.email === 'ada@example.com',
};`;
const otherKey = 'another-key-0123456789';
const service = useServiceHere(config, { apiKeys: [apiKey, otherKey] });
const folder = useFolder();
const verifier = fileURLToPath(new URL('../../../verify/annals-verify.mjs', import.meta.url));
const { RFC9162_SHA256: independent } = CoMETRE;
// The types of the module declare a namespace.
const canonicalize = canonicalizeModule as unknown as (value: unknown) => string;

type Fetched = { status: number; headers: Headers; bytes: Buffer };

async function get(path: string, { key = apiKey, headers = {} }: CallOptions = {}): Promise<Fetched> {
  const response = await fetch(service.url + path, { headers: { ...(key && { 'x-api-key': key }), ...headers } });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

/** An archive, unpacked, with the JSON file that describes it. */
async function archive(path: string, options?: CallOptions) {
  const fetched = await get(path, options);
  assert.equal(fetched.status, 200, fetched.bytes.toString());
  assert.equal(fetched.headers.get('content-type'), 'application/zip');
  assert.equal(fetched.headers.get('cache-control'), 'no-store');
  const files = unzip(fetched.bytes);
  const text = (name: string) => String(files.get(name) ?? assert.fail(`there is no ${name} in ${[...files.keys()]}`));
  const about = JSON.parse(text(files.has('bundle.json') ? 'bundle.json' : 'manifest.json'));
  const lines = about.file ? text(about.file).split('\n').slice(0, -1) : [];
  return { ...fetched, files, text, about, lines };
}

/** By annals-verify, under the key that is in the archive: a test trusts its service. */
async function assertSound(bytes: Buffer): Promise<void> {
  const files = unzip(bytes);
  const { verifierKey } = JSON.parse(String(files.get('bundle.json') ?? files.get('manifest.json')));
  const file = join(folder, `${process.hrtime.bigint()}.zip`);
  writeFileSync(file, bytes);
  const { exit, text } = await verify(['--key', verifierKey, file]);
  rmSync(file);
  assert.equal(exit, 0, text);
  // Whatever people read in it was made again.
  assert.match(text, /README\.txt is the text that belongs there/);
  assert.match(text, /^SOUND \(\d+ events?, [^)]+\)$/m);
  const made = [...files.keys()].filter((name) =>
    /^(summary\.html|events\.csv|events\.cloudevents\.ndjson)$/.test(name),
  );
  for (const name of made) assert.ok(text.includes(`${name} is what the events make, byte for byte`), text);
}

function rootIn(checkpoint: string): { size: number; root: Buffer } {
  const [, size, root = ''] = checkpoint.split('\n');
  return { size: Number(size), root: Buffer.from(root, 'base64') };
}

/** By an implementation that is not ours. */
async function isIncluded(header: string, position: number, proof: string[], checkpoint: string): Promise<boolean> {
  const { size, root } = rootIn(checkpoint);
  const leaf = hash('sha256', `\0${header}`, 'buffer');
  const path = proof.map((one) => Buffer.from(one, 'base64'));
  const found = await independent.verify_inclusion_proof(leaf, {
    log_id: '',
    tree_size: size,
    leaf_index: position - 1,
    inclusion_path: path,
  });
  return root.equals(found);
}

function commitment(payload: string): string {
  return `sha256:${hash('sha256', `annals-payload-v1\0${payload}`)}`;
}

const posts = '/api/collections/posts';
const scoped = (scopes: string): CallOptions => ({ headers: { 'x-scopes': scopes } });
const hostile = '=HYPERLINK("http://evil.example","x")</td><script>alert(1)</script>;=1+1';
let post = '';
let upload = '';

async function create(title: string, headers: Record<string, string> = {}): Promise<string> {
  const { status, body } = await service.call('POST', posts, { title, body: 'text' }, { headers });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

function send(method: string, path: string, text: string): Promise<Answer> {
  const form = `--b\r\ncontent-disposition: form-data; name=file; filename=a.txt\r\n\r\n${text}\r\n--b--\r\n`;
  return service.call(method, path, form, { headers: { 'content-type': 'multipart/form-data; boundary=b' } });
}

before(async () => {
  post = await create('first');
  await service.call('PATCH', `${posts}/${post}`, { title: hostile });
  await service.call('PATCH', `${posts}/${post}`, { body: 'it said more' });
  await service.call('PATCH', '/api/globals/settings', { motto: 'Grüße' });
  upload = (await send('POST', '/api/collections/media', 'one')).body.id;
  await send('PATCH', `/api/collections/media/${upload}`, 'two');
  const user = { email: 'ada@example.com', password: 'correct horse battery', name: 'Ada' };
  assert.equal((await service.call('POST', '/api/collections/users', user, { key: null })).status, 201);
  for (let index = 0; index < 20; index += 1) await create(`post ${index}`);
});

describe('GET /api/audit/bundles/{slug}/{id}', () => {
  it('gives everything about a document, each event with a proof that another implementation accepts', async () => {
    const { files, about, text, headers, bytes } = await archive(`/api/audit/bundles/posts/${post}`);
    assert.equal(headers.get('content-disposition'), `attachment; filename=annals-posts-${post}.zip`);
    assert.deepEqual([...files.keys()].sort(), [
      'README.txt',
      'annals-verify.mjs',
      'bundle.json',
      'checkpoint.txt',
      'summary.html',
    ]);
    assert.equal(text('checkpoint.txt'), about.checkpoint);
    assert.deepEqual(files.get('annals-verify.mjs'), readFileSync(verifier));
    assert.deepEqual(Object.keys(about), [
      'format',
      'origin',
      'verifierKey',
      'checkpoint',
      'texts',
      'signedAt',
      'stream',
      'streams',
      'events',
      'schemas',
      'erasures',
      'document',
      'versions',
      'files',
      'earlier',
      'rest',
    ]);
    assert.deepEqual(about.versions, { [`posts/${post}`]: 3 });
    for (const { header, payload, proof } of [...about.events, ...about.schemas]) {
      const { position, payload: committed } = JSON.parse(header);
      assert.equal(canonicalize(JSON.parse(header)), header);
      assert.equal(commitment(payload), committed);
      assert.ok(await isIncluded(header, position, proof, about.checkpoint));
      assert.ok(!(await isIncluded(header, position + 1, proof, about.checkpoint)));
    }
    const now = (await service.call('GET', `${posts}/${post}`)).body;
    assert.deepEqual(about.document, now);
    await assertSound(bytes);
  });

  it('shows who changed what in a page that runs nothing, whatever the document holds', async () => {
    const { text } = await archive(`/api/audit/bundles/posts/${post}`);
    const html = text('summary.html');
    assert.ok(!/<script/i.test(html));
    assert.match(html, /Version 1: created/);
    assert.match(html, /<th><bdi>title<\/bdi><\/th><td><bdi>first<\/bdi><\/td><td><bdi>=HYPERLINK\(&quot;/);
    assert.match(html, /&lt;script&gt;alert\(1\)/);
    assert.match(html, /default-src 'none'/);
  });

  it('brings the files of all versions, and names those whose bytes are lost', async () => {
    const path = `/api/audit/bundles/media/${upload}`;
    const [one, two] = ['one', 'two'].map((word) => hash('sha256', word)) as [string, string];
    const whole = await archive(path);
    assert.equal(String(whole.files.get(`files/${one}`)), 'one');
    assert.equal(String(whole.files.get(`files/${two}`)), 'two');
    assert.deepEqual(whole.about.files, [
      { sha256: one, bytes: 3, version: 1, included: true },
      { sha256: two, bytes: 3, version: 2, included: true },
    ]);
    await assertSound(whole.bytes);
    const without = await archive(`${path}?files=false`);
    assert.ok(![...without.files.keys()].some((name) => name.startsWith('files/')));
    assert.deepEqual(
      without.about.files.map(({ included }: { included: boolean }) => included),
      [false, false],
    );
    rmSync(join(service.data, 'blobs', one.slice(0, 2), one));
    const lossy = await archive(path);
    assert.ok(!lossy.files.has(`files/${one}`));
    assert.deepEqual(lossy.about.files[0], { sha256: one, bytes: 3, version: 1, included: false, missing: true });
    await assertSound(without.bytes);
  });

  it('is there for deleted documents, globals and accounts, and 404 for what never was', async () => {
    const id = await create('to be deleted');
    await service.call('DELETE', `${posts}/${id}`);
    const deleted = await archive(`/api/audit/bundles/posts/${id}`);
    assert.equal(deleted.about.document, null);
    await assertSound(deleted.bytes);
    const global = await archive('/api/audit/bundles/globals/settings');
    assert.equal(global.about.document.motto, 'Grüße');
    await assertSound(global.bytes);
    for (const path of ['posts/nothing', 'nothing/nothing', 'globals/nothing', `posts/${'x'.repeat(5000)}`]) {
      assert.equal((await get(`/api/audit/bundles/${path}`)).status, 404, path);
    }
  });

  it('proves that there was no later version, unasked if that is short', async () => {
    const { about, bytes } = await archive(`/api/audit/bundles/posts/${post}?complete=true`);
    const { size } = rootIn(about.checkpoint);
    assert.equal(about.rest.headers.length, size - about.rest.after);
    assert.equal(JSON.parse(about.events.at(-1).header).position, about.rest.after);
    await assertSound(bytes);
  });

  it('refuses who may not see payloads, and keys if accounts are closed to them', async () => {
    const path = `/api/audit/bundles/posts/${post}`;
    assert.equal((await get(path, { key: null })).status, 401);
    assert.equal((await get(path, scoped('headers export'))).status, 403);
    assert.equal((await get(path, scoped('payloads'))).status, 200);
    const stream = recordedEvents(service.data).find((event) => event.stream.startsWith('users/'))?.stream ?? '';
    const closed = await get(`/api/audit/bundles/${stream}`);
    assert.equal(closed.status, 403, String(closed.bytes));
    assert.equal((await get(`/api/audit/bundles/accounts/${stream}`)).status, 403);
  });

  it('is itself on record before its first byte, with who, from where and what', async () => {
    const headers = { 'user-agent': 'auditor', 'x-change-reason': 'the audit of 2026' };
    const { length } = recordedEvents(service.data);
    await assertRecorded(service, () => archive(`/api/audit/bundles/posts/${post}?files=false`, { headers }), [
      {
        type: 'log.exported',
        stream: 'system/audit',
        data: { from: 1, to: length, format: 'bundle', events: 3, filters: { stream: `posts/${post}` } },
      },
    ]);
    assert.equal(recordedEvents(service.data, 'system/audit').at(-1)?.actor.type, 'apiKey');
    const { lines } = await archive('/api/audit/export?stream=system/audit');
    const { ip, ...context } = JSON.parse(lines.at(-1) ?? '').payload.context;
    assert.deepEqual(
      [typeof ip, context],
      ['string', { userAgent: 'auditor', reason: 'the audit of 2026', rule: 'audit' }],
    );
  });

  it('records nothing for HEAD, for a refusal and for what never was', async () => {
    const path = `/api/audit/bundles/posts/${post}`;
    const ask = () => fetch(service.url + path, { method: 'HEAD', headers: { 'x-api-key': apiKey } });
    assert.equal((await assertRecorded(service, ask, [])).status, 200);
    for (const [status, to, options] of [
      [403, path, scoped('export')],
      [401, path, { key: null }],
      [400, `${path}?files=x`, {}],
      [400, `${path}?since=99999`, {}],
      [404, '/api/audit/bundles/posts/nothing', {}],
    ] as const) {
      const refused = await assertRecorded(service, () => get(to, options), []);
      assert.equal(refused.status, status, to);
    }
  });

  it('are there under one address each, and for nothing that is no document', async () => {
    for (const path of [
      'system/schema',
      'system/audit',
      `globals/${encodeURIComponent('x/y')}`,
      'globals%2Fsettings/x',
    ]) {
      const { status, bytes } = await get(`/api/audit/bundles/${path}`);
      assert.deepEqual([path, status, JSON.parse(String(bytes)).error], [path, 404, 'Not Found']);
    }
  });
});

describe('GET /api/audit/export', () => {
  it('gives the whole log as NDJSON that annals-verify finds sound, and does not hold itself', async () => {
    const size = recordedEvents(service.data).length;
    const { about, lines, files, bytes, headers } = await archive('/api/audit/export');
    assert.deepEqual([...files.keys()], ['README.txt', 'annals-verify.mjs', 'events.ndjson', 'manifest.json']);
    assert.equal(headers.get('content-disposition'), `attachment; filename=annals-export-1-${size}.zip`);
    assert.deepEqual([about.from, about.to, about.events, about.kind], [1, size, size, 'ndjson']);
    const file = files.get('events.ndjson') as Buffer;
    assert.deepEqual([about.bytes, about.sha256], [file.length, hash('sha256', file)]);
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).header),
      recordedEvents(service.data).slice(0, size),
    );
    await assertSound(bytes);
  });

  it('is itself on record before its first byte, with who, from where and what', async () => {
    const headers = { 'user-agent': 'auditor', 'x-change-reason': 'the audit of 2026' };
    const filters = { type: 'document.updated' };
    await assertRecorded(
      service,
      () => archive('/api/audit/export?from=2&to=5&type=document.updated&format=csv', { headers }),
      [
        {
          type: 'log.exported',
          stream: 'system/audit',
          data: { from: 2, to: 5, format: 'csv', events: 2, filters },
        },
      ],
    );
    assert.equal(recordedEvents(service.data, 'system/audit').at(-1)?.actor.type, 'apiKey');
    const { lines } = await archive('/api/audit/export?stream=system/audit');
    const { ip, ...context } = JSON.parse(lines.at(-1) ?? '').payload.context;
    assert.deepEqual(
      [typeof ip, context],
      ['string', { userAgent: 'auditor', reason: 'the audit of 2026', rule: 'audit' }],
    );
  });

  it('records nothing for HEAD, for a refusal and for bad parameters', async () => {
    const ask = () => fetch(`${service.url}/api/audit/export`, { method: 'HEAD', headers: { 'x-api-key': apiKey } });
    const head = await assertRecorded(service, ask, []);
    assert.deepEqual([head.status, head.headers.get('content-type')], [200, 'application/zip']);
    assert.equal(head.headers.get('content-length'), null);
    for (const [status, query, options] of [
      [403, '', scoped('payloads')],
      [401, '', { key: null }],
      [400, '?format=xml', {}],
    ] as const) {
      const refused = await assertRecorded(service, () => get(`/api/audit/export${query}`, options), []);
      assert.equal(refused.status, status);
    }
  });

  it('is not made under a cookie because another site asks for it, nor is a pack', async () => {
    const credentials = { email: 'ada@example.com', password: 'correct horse battery' };
    const answer = await service.call('POST', '/api/collections/users/login', credentials, { key: null });
    const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
    const under = async (headers: Record<string, string>) => {
      const options = { key: null, headers: { cookie, 'x-scopes': 'export payloads', ...headers } };
      const pack = await get(`/api/audit/bundles/posts/${post}`, options);
      const exported = await get('/api/audit/export', options);
      assert.equal(pack.status, exported.status);
      return exported;
    };
    const { origin } = new URL(service.url);
    for (const headers of [{ 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }, { origin }])
      assert.equal((await under(headers)).status, 200, JSON.stringify(headers));
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site', origin },
      // Browsers that do not know Sec-Fetch-Site.
      { origin: 'http://evil.example' },
      { origin: 'null' },
      {},
    ] as Record<string, string>[]) {
      assert.equal((await assertRecorded(service, () => under(headers), [])).status, 403, JSON.stringify(headers));
    }
  });

  it('takes parts of the log by position, by time and by day, both ends included', async () => {
    const all = recordedEvents(service.data);
    const at = (position: number) => all[position - 1]?.recordedAt ?? '';
    const today = at(1).slice(0, 10);
    const expected = (from: string, to: string) =>
      all.filter(({ recordedAt }) => recordedAt >= from && recordedAt <= to).length;
    for (const [query, count] of [
      ['from=3&to=7', 5],
      ['from=4&to=4', 1],
      [`from=${at(3)}&to=${at(9)}`, expected(at(3), at(9))],
      [`from=${at(3).replace('Z', '%2B00:00')}&to=${at(9)}`, expected(at(3), at(9))],
      ['to=2001-01-01', 0],
      [`from=${today}&to=${at(9)}`, expected('', at(9))],
      ['from=5&to=4', 0],
    ] as const) {
      const { about, lines, bytes } = await archive(`/api/audit/export?${query}`);
      assert.deepEqual([about.events, lines.length], [count, count], query);
      assert.equal(about.to - about.from + 1, count, query);
      await assertSound(bytes);
    }
  });

  it('selects by collection, stream, type and actor, each event with its own proof', async () => {
    const { about, lines, bytes } = await archive('/api/audit/export?collection=posts&type=document.updated');
    assert.deepEqual(about.filters, { collection: 'posts', type: 'document.updated' });
    assert.equal(about.events, 2);
    assert.ok(!('before' in about));
    for (const line of lines) {
      const { header, proof } = JSON.parse(line);
      assert.ok(await isIncluded(canonicalize(header), header.position, proof, about.checkpoint));
    }
    await assertSound(bytes);
    assert.equal((await archive(`/api/audit/export?stream=posts/${post}`)).about.events, 3);
    assert.equal((await archive('/api/audit/export?actor=system&to=5')).about.events, 1);
  });

  it('answers 400 naming each wrong parameter and the right word', async () => {
    const size = recordedEvents(service.data).length;
    const wrong: [query: string, field: string, message: RegExp][] = [
      [
        'format=cvs',
        'format',
        /^format must be one of "ndjson", "csv", "cloudevents", got "cvs"; did you mean "csv"\?$/,
      ],
      ['frm=1', 'frm', /did you mean "from"\?/],
      ['from=0', 'from', /^from must be a position from 1 to \d+, where the log ends, got "0"$/],
      ['from=1&from=2', 'from', /must be given once$/],
      ['from=2026-02-30', 'from', /a date like/],
      ['to=yesterday', 'to', /got "yesterday"$/],
      ['to=2026-03-03T12:00:00', 'to', /a time with a zone like/],
      ['to=2999-01-01', 'to', /must not be in the future/],
      [`to=${size + 1}`, 'to', /where the log ends/],
      ['from=9&to=3', 'from', /^from must not be after to, got the positions 9 and 3$/],
      ['type=document.update', 'type', /did you mean "document.updated"\?/],
      ['collection=post', 'collection', /did you mean "posts"\?/],
      ['stream=posts/x', 'stream', /must be one of the log/],
      ['actor=', 'actor', /^actor must be given once and not be empty/],
      ['since=x', 'since', /must be the size of an earlier checkpoint/],
      [`since=${size + 50}`, 'since', /has lost events$/],
    ];
    for (const [query, field, message] of wrong) {
      const answer = await service.call('GET', `/api/audit/export?${query}`);
      assert.equal(answer.status, 400, query);
      assert.match(errorsOf(answer)[field] ?? '', message, query);
    }
    assert.equal((await get(`/api/audit/bundles/posts/${post}?files=no`)).status, 400);
  });

  it('keeps payloads from who may see headers only, and accounts from keys', async () => {
    const { about, lines, bytes } = await archive('/api/audit/export', scoped('export'));
    assert.equal(about.withPayloads, false);
    for (const line of lines) {
      const { header, ...rest } = JSON.parse(line);
      assert.ok(header.position);
      assert.deepEqual(rest, { payload: null });
    }
    await assertSound(bytes);
    const byKey = await archive('/api/audit/export');
    const accounts = byKey.lines
      .map((line) => JSON.parse(line))
      .filter(({ header }) => /^(accounts\/)?users\//.test(header.stream));
    assert.ok(accounts.length > 0);
    for (const { payload, withheld } of accounts) assert.deepEqual([payload, withheld], [null, true]);
    assert.ok(!byKey.text('events.ndjson').includes('ada@example.com'));
    for (const format of ['csv', 'cloudevents']) {
      const other = await archive(`/api/audit/export?format=${format}`);
      const bare = await archive(`/api/audit/export?format=${format}`, scoped('export'));
      for (const file of [other.about.file, 'events.ndjson']) {
        assert.ok(!other.text(file).includes('ada@example.com'), `${format}: ${file}`);
        assert.ok(!bare.text(file).includes('it said more'), `${format}: ${file}`);
      }
      await assertSound(other.bytes);
      await assertSound(bare.bytes);
    }
  });

  it('proves that the log goes on from the checkpoints that the auditor kept', async () => {
    const { about, bytes } = await archive('/api/audit/export?since=3&since=7');
    const { size } = rootIn(about.checkpoint);
    const sizes = about.earlier.map((one: { size: number }) => one.size);
    assert.ok(sizes.includes(3) && sizes.includes(7) && !sizes.includes(size), String(sizes));
    await assertSound(bytes);
  });

  it('proves what was erased without saying it, wherever the erasure itself stands', async () => {
    const ada = (await login(service, 'users', 'ada@example.com', 'correct horse battery')).body.token;
    const id = await create('to be forgotten');
    await service.call('PATCH', `${posts}/${id}`, { title: 'forgotten, too' });
    const { length } = recordedEvents(service.data);
    const erasure = { collection: 'posts', id, reason: 'asked for on paper' };
    const erased = await service.call('POST', '/api/audit/erasures', erasure, bearer(ada));
    assert.equal(erased.status, 201, JSON.stringify(erased.body));

    const pack = await archive(`/api/audit/bundles/posts/${id}`);
    const shown = pack.about.events.map((event: { payload: unknown; erased?: true }) => [
      event.payload === null,
      event.erased,
    ]);
    assert.deepEqual(shown, [
      [true, true],
      [true, true],
      [false, undefined],
    ]);
    assert.equal(pack.about.document, null);
    assert.match(pack.text('summary.html'), /ERASED: what this version said was removed for good/);
    await assertSound(pack.bytes);
    for (const query of [
      `to=${length}`,
      `from=${length - 1}`,
      `stream=posts/${id}`,
      `stream=posts/${id}&type=document.created`,
    ]) {
      const { text, bytes, about } = await archive(`/api/audit/export?${query}`);
      assert.ok(text('events.ndjson').includes(',"payload":null,"erased":true'), query);
      const isShown = text('events.ndjson').includes('"type":"document.erased"');
      assert.equal(about.erasures.length, isShown ? 0 : 1, query);
      await assertSound(bytes);
    }
    for (const format of ['ndjson', 'csv', 'cloudevents']) {
      const { text, about, bytes } = await archive(`/api/audit/export?format=${format}`);
      for (const file of [about.file, 'events.ndjson'])
        assert.ok(!/to be forgotten|forgotten, too/.test(text(file)), `${format}: ${file}`);
      await assertSound(bytes);
    }
  });

  it('goes on over the erasure of an account, which is of more streams than one', async () => {
    const bob = { email: 'bob@example.com', password: 'correct horse battery', name: 'Bob' };
    const { id } = (await service.call('POST', '/api/collections/users', bob, { key: null })).body;
    await login(service, 'users', bob.email, bob.password);
    const ada = bearer((await login(service, 'users', 'ada@example.com', 'correct horse battery')).body.token);
    const erased = await service.call('POST', '/api/audit/erasures', { collection: 'users', id, reason: 'asked' }, ada);
    assert.equal(erased.status, 201, JSON.stringify(erased.body));
    const headers = { ...ada.headers, 'x-scopes': 'payloads export' };
    const { text, bytes } = await archive('/api/audit/export', { key: null, headers });
    assert.ok(!text('events.ndjson').includes('bob@example.com'));
    assert.ok(text('events.ndjson').split('"erased":true').length > 2);
    await assertSound(bytes);
  });

  it('brings the exact texts along with CSV and CloudEvents, so that what these say is proven too', async () => {
    const plain = await archive(`/api/audit/export?to=20`);
    for (const format of ['csv', 'cloudevents']) {
      const { files, text, about, bytes } = await archive(`/api/audit/export?format=${format}&to=20`);
      const names = ['README.txt', 'annals-verify.mjs', about.file, 'events.ndjson', 'manifest.json'];
      assert.deepEqual([...files.keys()], names);
      const file = files.get(about.file) as Buffer;
      assert.deepEqual([about.kind, about.bytes, about.sha256], [format, file.length, hash('sha256', file)]);
      assert.equal(text('events.ndjson'), plain.text('events.ndjson'));
      const { file: source, bytes: length, sha256 } = about.source;
      assert.deepEqual([source, length, sha256], ['events.ndjson', plain.about.bytes, plain.about.sha256]);
      await assertSound(bytes);
      const some = await archive(`/api/audit/export?format=${format}&collection=posts`);
      await assertSound(some.bytes);
      assert.equal(some.text('events.ndjson').match(/,"proof":\[/g)?.length, some.about.events);
    }
    assert.ok(!('source' in plain.about));
  });

  it('writes CSV by which no spreadsheet is made to calculate', async () => {
    const { about, text, bytes } = await archive('/api/audit/export?format=csv');
    const rows = parseCsv(text('events.csv').replace(/^\ufeff/, ''));
    assert.ok(text('events.csv').startsWith('\ufeff'));
    assert.equal(rows[0]?.slice(0, 5).join(), 'position,recordedAt,stream,version,type');
    assert.equal(rows.length, about.events + 1);
    for (const cell of rows.flat()) assert.doesNotMatch(cell, /^[=+\-@\t\r\n]/);
    const row = rows.find((cells) => cells[2] === `posts/${post}` && cells[3] === '2') ?? [];
    assert.equal(row[9], 'title');
    assert.equal(JSON.parse(row[10] ?? '').set.title, hostile);
    assert.ok(!row[10]?.includes(';='));
    await assertSound(bytes);
  });

  it('writes CloudEvents that fit their schema', async () => {
    const { lines, bytes } = await archive('/api/audit/export?format=cloudevents');
    const ajv = new Ajv.default({ allowUnionTypes: true });
    addFormats.default(ajv);
    const check = ajv.compile(cloudEvent);
    let last = '';
    for (const line of lines) {
      const event = JSON.parse(line) as Record<string, string>;
      assert.ok(check(event), `${JSON.stringify(check.errors)} in ${line}`);
      for (const name of Object.keys(event)) assert.match(name, /^[a-z0-9]{1,20}$/);
      assert.ok((event.sequence ?? '') > last);
      last = event.sequence ?? '';
    }
    await assertSound(bytes);
    assert.ok(lines.some((line) => JSON.parse(line).type === 'org.annals.document.updated'));
  });

  it('holds its range while others write and export, too', async () => {
    const exporting = [1, 2].map(() => archive('/api/audit/export'));
    const writing = Array.from({ length: 10 }, (_, index) => create(`meanwhile ${index}`));
    const archives = await Promise.all(exporting);
    await Promise.all(writing);
    for (const { about, lines, bytes } of archives) {
      assert.equal(lines.length, about.to);
      await assertSound(bytes);
    }
  });

  it('stops when the client goes away, and goes on serving', async () => {
    const outgoing = request(`${service.url}/api/audit/export`, { headers: { 'x-api-key': apiKey } }).end();
    outgoing.on('error', () => {});
    await new Promise<void>((resolve) => {
      outgoing.on('response', (response) => {
        response.once('data', () => {
          response.destroy();
          resolve();
        });
      });
    });
    assert.equal((await archive('/api/audit/export?to=3')).about.events, 3);
    await eventually(() => !service.output().stderr.includes('a request failed'));
    assert.ok(!service.output().stderr.includes('an archive was cut off'));
  });
});

describe('The exports and evidence packs of a caller', () => {
  it('are two at once, whether they are read or not; one more is a 429, and no event', async () => {
    const upload = (method: string, path: string) => {
      const body = new FormData();
      body.append('file', new Blob([randomBytes(6_000_000)]), 'noise.bin');
      return fetch(service.url + path, { method, headers: { 'x-api-key': apiKey }, body });
    };
    const { id } = (await (await upload('POST', '/api/collections/media')).json()) as { id: string };
    assert.equal((await upload('PATCH', `/api/collections/media/${id}`)).status, 200);
    const path = `/api/audit/bundles/media/${id}`;
    const before = recordedEvents(service.data, 'system/audit').length;
    const recorded = () => recordedEvents(service.data, 'system/audit').length - before;
    const slow = [1, 2].map(() => dial(service.url, `GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\n\r\n`));
    await eventually(() => recorded() === 2);
    for (const other of [path, '/api/audit/export']) {
      const { status, headers, bytes } = await get(other);
      assert.deepEqual([status, headers.get('retry-after')], [429, '10'], String(bytes));
      assert.match(String(bytes), /a caller has at most 2 exports and evidence packs under way/);
    }
    assert.equal((await get(path, { key: otherKey })).status, 200, 'another caller');
    assert.equal(recorded(), 3);
    for (const socket of slow) socket.destroy();
    await eventually(async () => (await get('/api/audit/export?to=3')).status === 200);
  });
});

/** The published JSON Schema of the CloudEvents 1.0 JSON format, without its descriptions. */
const text = { type: 'string', minLength: 1 };
const optional = { type: ['string', 'null'], minLength: 1 };
const cloudEvent = {
  type: 'object',
  properties: {
    id: text,
    source: { ...text, format: 'uri-reference' },
    specversion: text,
    type: text,
    datacontenttype: optional,
    dataschema: { ...optional, format: 'uri' },
    subject: optional,
    time: { ...optional, format: 'date-time' },
    data: { type: ['object', 'string', 'number', 'array', 'boolean', 'null'] },
    data_base64: { type: ['string', 'null'], contentEncoding: 'base64' },
  },
  required: ['id', 'source', 'specversion', 'type'],
};

/** RFC 4180, read strictly. */
function parseCsv(csv: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  while (cell.lastIndex < csv.length) {
    const found = cell.exec(csv) ?? assert.fail('this is no CSV');
    row.push((found[1] ?? found[2] ?? '').replaceAll('""', '"'));
    if (found[3] === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}
