import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { assertRecorded, assertRefusalRecordsNothing } from '../../helpers/recorded.ts';
import { type Answer, apiKey } from '../../helpers/service.ts';
import { errorsOf, fieldsOf, recordedData, useService } from '../../helpers/shared.ts';

const service = useService(
  `
const yes = () => true;
export default {
  collections: [
    { slug: 'media', upload: { maxFileSize: 100_000 }, fields: [
      { name: 'alt', type: 'text', unique: true },
      { name: 'caption', type: 'textarea' },
      { name: 'rank', type: 'number' },
      { name: 'shown', type: 'boolean', defaultValue: false },
      { name: 'taken', type: 'date' },
      { name: 'kind', type: 'select', options: ['photo', 'scan'] },
      { name: 'tags', type: 'multiSelect', options: ['sea', 'sky', '[1]'] },
      { name: 'place', type: 'object', fields: [{ name: 'city', type: 'text' }, { name: 'lat', type: 'number' }] },
      { name: 'credits', type: 'array', fields: [{ name: 'who', type: 'text' }] },
      { name: 'parts', type: 'blocks', blocks: [{ slug: 'note', fields: [{ name: 'text', type: 'text' }] }] },
      { name: 'data', type: 'json' },
      { name: 'body', type: 'richText' },
      { name: 'like', type: 'upload', relationTo: 'media' },
      { name: 'likes', type: 'relationship', relationTo: 'media', hasMany: true },
      { name: 'usedBy', type: 'join', collection: 'posts', on: 'cover' },
    ] },
    { slug: 'images', upload: { mimeTypes: ['image/*'] }, fields: [] },
    { slug: 'hooked', upload: true, fields: [{ name: 'seen', type: 'json' }, { name: 'after', type: 'text' }], hooks: {
      beforeChange: [({ data }) => {
        if (data.filename === 'refused.txt') throw Object.assign(new Error('not this one'), { statusCode: 422 });
        const { filename, mimeType, filesize, sha256 } = data;
        return { ...data, filename: 'evil.html', sha256: 'x', seen: [filename, mimeType, filesize, sha256].map((value) => value ?? null) };
      }],
      afterChange: [({ data }) => ({ ...data, after: data.filename })],
    } },
    { slug: 'ruled', upload: true, fields: [{ name: 'alt', type: 'text' }], access: {
      read: yes,
      create: ({ data }) => data.alt === 'mine' && data.mimeType === 'text/plain',
      update: ({ doc, data }) => doc.alt === 'mine' && data.filesize < 10,
    } },
    { slug: 'posts', fields: [
      { name: 'cover', type: 'upload', relationTo: 'media' },
      { name: 'gallery', type: 'upload', relationTo: 'media', hasMany: true },
    ] },
  ],
};`,
  { ANNALS_THREADS: '1' },
);
const media = '/api/collections/media';

type Parts = readonly (readonly [name: string, value: string | Blob, filename?: string])[];

const textFile = (text: string) => new Blob([text]);
const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');

/** Sends a form as browsers do. */
async function send(method: string, path: string, parts: Parts, key: string | null = apiKey, attempt?: string) {
  const form = new FormData();
  for (const [name, value, filename] of parts) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, value, filename ?? 'file.txt');
  }
  const headers = {
    ...(key === null ? {} : { 'x-api-key': key }),
    ...(attempt === undefined ? {} : { 'idempotency-key': attempt }),
  };
  const response = await fetch(service.url + path, { method, body: form, headers });
  const answer: Answer = { status: response.status, headers: response.headers, body: await response.json() };
  assertRefusalRecordsNothing(service.data, `${method} ${path}`, answer);
  return answer;
}

/** A form with an input for a file that was left empty, which `FormData` of Node does not send as browsers do. */
async function sendEmpty(method: string, path: string, rest = ''): Promise<Answer> {
  const input = 'content-disposition: form-data; name="file"; filename=""\r\ncontent-type: application/octet-stream';
  const body = `${rest}--b\r\n${input}\r\n\r\n\r\n--b--\r\n`;
  return service.call(method, path, body, { headers: { 'content-type': 'multipart/form-data; boundary=b' } });
}

async function upload(parts: Parts = [], content = `text ${Math.random()}`): Promise<Answer['body']> {
  const { status, body } = await send('POST', media, [['file', textFile(content)], ...parts]);
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

const blobs = (): string[] => {
  return readdirSync(join(service.data, 'blobs'), { recursive: true, encoding: 'utf8' })
    .map((path) => path.split('/').at(-1) as string)
    .filter((name) => /^[0-9a-f]{64}$/.test(name));
};

const pathOf = (content: string) => join(service.data, 'blobs', sha256(content).slice(0, 2), sha256(content));

async function download({ url }: Answer['body']): Promise<[status: number, text: string]> {
  const response = await fetch(service.url + url, { headers: { 'x-api-key': apiKey } });
  return [response.status, await response.text()];
}

/** Asserts that nothing of a refused upload is left. */
function assertNothingOf(content: string): void {
  assert.ok(!blobs().includes(sha256(content)));
  assert.deepEqual(readdirSync(join(service.data, 'blobs/incoming')), []);
}

describe('POST of a file (2.3, 4.2)', () => {
  it('answers 201 with the document and all facts of the file, and records everything but the URL', async () => {
    const { status, body } = await assertRecorded(
      service,
      () =>
        send('POST', media, [
          ['file', textFile('hello'), 'über uns.txt'],
          ['alt', 'a text'],
        ]),
      (answer) => {
        const { url: _, usedBy: __, ...data } = answer.body;
        return [{ type: 'document.created', stream: `media/${data.id}`, data }];
      },
    );
    assert.equal(status, 201);
    const { id, createdAt, updatedAt, ...rest } = body;
    assert.equal(createdAt, updatedAt);
    const file = { filename: 'über uns.txt', mimeType: 'text/plain', filesize: 5, width: null, height: null };
    const url = `/api/media/media/${id}/%C3%BCber%20uns.txt`;
    assert.deepEqual(rest, {
      ...{ ...file, sha256: sha256('hello'), url, alt: 'a text', caption: null, rank: null, shown: false },
      ...{ taken: null, kind: null, tags: [], place: null, credits: [], parts: [], data: null, body: null },
      ...{ like: null, likes: [], usedBy: [] },
    });
    assert.deepEqual((await service.call('GET', `${media}/${id}`)).body, body);
    assert.equal(
      readFileSync(join(service.data, 'blobs', sha256('hello').slice(0, 2), sha256('hello')), 'utf8'),
      'hello',
    );
  });

  it('takes the parts in any order, each value read by the type of its field', async () => {
    const other = await upload();
    const fields: Parts = [
      ['caption', ''],
      ['rank', '-1.5e2'],
      ['shown', 'true'],
      ['taken', '2024-02-29'],
      ['kind', 'photo'],
      ['tags', 'sea'],
      ['tags', 'sky'],
      ['place', '{"city":"Łódź","lat":51.8}'],
      ['credits', '[{"who":"Ada"},{"who":"Grace"}]'],
      ['parts', '[{"blockType":"note","text":"hi"}]'],
      ['data', '[1,{"deep":null}]'],
      ['body', '"a text in JSON"'],
      ['like', other.id],
      ['likes', JSON.stringify([other.id])],
    ];
    const wanted = {
      ...{ caption: '', rank: -150, shown: true, taken: '2024-02-29', kind: 'photo', tags: ['sea', 'sky'] },
      ...{ place: { city: 'Łódź', lat: 51.8 }, credits: [{ who: 'Ada' }, { who: 'Grace' }] },
      ...{ parts: [{ blockType: 'note', text: 'hi' }], data: [1, { deep: null }], body: 'a text in JSON' },
      ...{ like: other.id, likes: [other.id] },
    };
    const file = ['file', textFile('in any order')] as const;
    for (const parts of [
      [file, ...fields],
      [...fields, file],
      [...fields.slice(0, 5), file, ...fields.slice(5)],
    ]) {
      const { status, body } = await send('POST', media, parts);
      assert.equal(status, 201, JSON.stringify(body));
      for (const [name, value] of Object.entries(wanted)) assert.deepEqual(body[name], value, name);
    }
  });

  it('reads a list from one text, JSON or not, and an empty text as null except in text fields', async () => {
    const one = await upload([['tags', 'sea']]);
    assert.deepEqual(one.tags, ['sea']);
    assert.deepEqual((await upload([['tags', '["sky","sea"]']])).tags, ['sky', 'sea']);
    assert.deepEqual((await upload([['tags', '["[1]"]']])).tags, ['[1]']);
    assert.deepEqual((await upload([['likes', one.id]])).likes, [one.id]);
    const empty = ['rank', 'shown', 'taken', 'kind', 'tags', 'place', 'credits', 'data', 'body', 'like', 'likes'];
    const none = await upload(empty.map((name) => [name, ''] as const));
    for (const name of empty) assert.deepEqual(none[name] ?? [], [], name);
  });

  it('refuses values with the messages that JSON gets, naming every field', async () => {
    const content = 'not to be kept';
    const wrong: Parts = [
      ['rank', '12 apples'],
      ['shown', 'on'],
      ['taken', '2024-13-01'],
      ['kind', 'phot'],
      ['place', '{"city":'],
      ['credits', '{}'],
      ['nope', 'x'],
      ['constructor', 'x'],
    ];
    const { status, body, headers } = await send('POST', media, [['file', textFile(content)], ...wrong]);
    assert.equal(status, 400);
    assert.deepEqual(errorsOf({ status, body, headers }), {
      rank: 'rank must be a number, got "12 apples"',
      shown: 'shown must be true or false, got "on"',
      taken: 'taken must be a calendar date like "2024-02-29", got "2024-13-01"',
      kind: 'kind must be one of "photo", "scan", got "phot"; did you mean "photo"?',
      place: `place must be an object, got ${JSON.stringify('{"city":')}`,
      credits: 'credits must be a list, got an object',
      nope: 'nope is not a field',
      constructor: 'constructor is not a field',
    });
    assertNothingOf(content);
  });

  it('refuses what is given twice and is no list, and what is not JSON if any JSON may be', async () => {
    const answer = await send('POST', media, [
      ['file', textFile('x')],
      ['alt', 'a'],
      ['alt', 'b'],
      ['place', '{}'],
      ['place', '{}'],
      ['data', 'plain'],
      ['body', '{"__proto__":{"admin":true}}'],
    ]);
    assert.equal(answer.status, 400);
    assert.deepEqual(errorsOf(answer), {
      alt: 'alt is given twice',
      place: 'place is given twice',
      data: 'data must be JSON, got "plain"',
      body: `body must be JSON, got ${JSON.stringify('{"__proto__":{"admin":true}}')}`,
    });
    const proto = await send('POST', media, [
      ['file', textFile('x')],
      ['__proto__', '{"admin":true}'],
    ]);
    assert.deepEqual([proto.status, fieldsOf(proto)], [400, ['__proto__']]);
  });

  it('refuses whole numbers that JSON does not keep', async () => {
    const answer = await send('POST', media, [
      ['file', textFile('x')],
      ['alt', '12345678901234567890'],
      ['data', '{"a":[12345678901234567890,"12345678901234567890"]}'],
      ['body', '9007199254740993'],
      ['place', '{"lat":9007199254740993}'],
    ]);
    assert.equal(answer.status, 400);
    assert.deepEqual(fieldsOf(answer), ['data.a.0', 'body', 'place.lat']);
    assert.match(errorsOf(answer).body ?? '', /^body must be a number that JSON keeps, got 9007199254740993, which/);
  });

  it('answers in few words if many numbers are lost below a long name', async () => {
    const data = `{"${'k'.repeat(100_000)}":[${Array(100).fill('9007199254740993')}]}`;
    const answer = await send('POST', media, [
      ['file', textFile('x')],
      ['data', data],
    ]);
    assert.equal(answer.status, 400);
    assert.equal(answer.body.errors.length, 100);
    assert.equal(answer.body.errors[0].field, `data.${'k'.repeat(195)}…`);
    assert.ok(JSON.stringify(answer.body).length < 200_000);
  });

  it('takes no word of the client for what it says of a file itself', async () => {
    const made: Parts = ['id', 'url', 'filename', 'mimeType', 'filesize', 'width', 'sha256', 'createdAt'].map(
      (name) => {
        return [name, 'evil'] as const;
      },
    );
    const body = await upload([...made, ['usedBy', 'evil']], 'mine');
    assert.ok(!JSON.stringify(body).includes('evil'));
    assert.deepEqual([body.mimeType, body.filesize, body.sha256], ['text/plain', 4, sha256('mine')]);
  });

  it('keeps the same bytes once', async () => {
    const content = 'the same bytes';
    const [first, second] = [await upload([], content), await upload([], content)];
    assert.notEqual(first.id, second.id);
    assert.equal(first.sha256, second.sha256);
    assert.equal(blobs().filter((name) => name === first.sha256).length, 1);
  });

  it('refuses a type that is not allowed, by the bytes and not by what the client says', async () => {
    const html = new Blob(['<!doctype html><script>alert(1)</script>'], { type: 'image/png' });
    const answer = await send('POST', '/api/collections/images', [['file', html, 'photo.png']]);
    assert.deepEqual([answer.status, fieldsOf(answer)], [400, ['file']]);
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const png = new Blob([Buffer.from(pixel, 'base64')], { type: 'text/html' });
    const { status, body } = await send('POST', '/api/collections/images', [['file', png, 'photo.html']]);
    assert.deepEqual([status, body.mimeType, body.width, body.height], [201, 'image/png', 1, 1]);
  });

  it('needs the file, sent as one', async () => {
    const json = await service.call('POST', media, { alt: 'no file' });
    const empty = await sendEmpty('POST', media);
    for (const answer of [json, empty, await send('POST', media, [['alt', 'no file']])]) {
      assert.equal(answer.status, 400);
      assert.match(errorsOf(answer).file ?? '', /^file is required: send the document as multipart\/form-data/);
    }
    const asText = await send('POST', media, [['file', 'the text of a file']]);
    assert.match(errorsOf(asText).file ?? '', /must be sent as a file/);
    const zero = await send('POST', media, [['file', new Blob([]), 'zero.png']]);
    assert.deepEqual(errorsOf(zero), { file: 'file must not be empty' });
    const elsewhere = await send('POST', media, [['photo', textFile('x')]]);
    assert.deepEqual(errorsOf(elsewhere), { photo: 'photo is not a file field; the file is sent as "file"' });
    const two = await send('POST', media, [
      ['file', textFile('one')],
      ['file', textFile('two')],
    ]);
    assert.match(errorsOf(two).file ?? '', /must be sent once/);
    assertNothingOf('one');
  });

  it('answers 409 for a unique value that is taken, and keeps nothing', async () => {
    await upload([['alt', 'unique']]);
    await upload([['alt', 'null']]);
    await upload();
    const content = 'bytes of a document that cannot be';
    const answer = await send('POST', media, [
      ['file', textFile(content)],
      ['alt', 'unique'],
    ]);
    assert.deepEqual([answer.status, fieldsOf(answer)], [409, ['alt']]);
    assertNothingOf(content);
  });
});

describe('Documents of an upload collection (2.3)', () => {
  it('are found by what is told of their files', async () => {
    const { id } = await upload([], 'x'.repeat(4321));
    const find = async (where: string) => {
      const { body } = await service.call('GET', `${media}?${where}`);
      return body.docs.map((document: { id: string }) => document.id);
    };
    assert.deepEqual(await find('where[filesize][greater_than]=4000&where[mimeType][equals]=text/plain'), [id]);
    assert.deepEqual(await find(`where[sha256][equals]=${sha256('x'.repeat(4321))}`), [id]);
    assert.deepEqual(await find('where[mimeType][equals]=image/png'), []);
  });

  it('are what upload fields of others point to, and populate, one and many', async () => {
    const [cover, second] = [await upload(), await upload()];
    const gallery = [second.id, cover.id];
    const { status, body: post } = await service.call('POST', '/api/collections/posts', { cover: cover.id, gallery });
    assert.equal(status, 201);
    const { body } = await service.call('GET', `/api/collections/posts/${post.id}?depth=1`);
    assert.equal(body.cover.url, cover.url);
    assert.deepEqual(
      body.gallery.map(({ sha256 }: { sha256: string }) => sha256),
      [second.sha256, cover.sha256],
    );
    assert.deepEqual((await service.call('GET', `${media}/${cover.id}`)).body.usedBy, [post.id]);
    const missing = await service.call('POST', '/api/collections/posts', { cover: post.id });
    assert.deepEqual([missing.status, fieldsOf(missing)], [400, ['cover']]);
  });

  it('are changed by JSON, and one that was read can be sent back whole', async () => {
    const before = await upload([['alt', 'before']]);
    const { status, body } = await service.call('PATCH', `${media}/${before.id}`, { caption: 'new', filesize: 1 });
    assert.deepEqual([status, body.caption, body.filesize, body.url], [200, 'new', before.filesize, before.url]);
    const back = await service.call('PATCH', `${media}/${before.id}`, { ...body, caption: 'newer' });
    assert.deepEqual([back.status, back.body.caption, back.body.sha256], [200, 'newer', before.sha256]);
    assert.deepEqual(
      recordedData(service.data, `media/${before.id}`)
        .slice(1)
        .map(({ set }) => Object.keys(set as object)),
      [
        ['caption', 'updatedAt'],
        ['caption', 'updatedAt'],
      ],
    );
  });

  it('get another file by a form, with the rest as it was, and keep the bytes of both', async () => {
    const before = await upload(
      [
        ['alt', 'replaced'],
        ['rank', '3'],
      ],
      'old bytes',
    );
    const picture = textFile('<svg xmlns="http://www.w3.org/2000/svg" width="3" height="2"/>');
    const replace = () =>
      send('PATCH', `${media}/${before.id}`, [
        ['rank', '4'],
        ['file', picture, 'new.svg'],
      ]);
    const { status, body } = await assertRecorded(service, replace, [`document.updated media/${before.id}`]);
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(
      [body.filename, body.mimeType, body.width, body.height, body.alt, body.rank],
      ['new.svg', 'image/svg+xml', 3, 2, 'replaced', 4],
    );
    assert.equal(body.url, `/api/media/media/${before.id}/new.svg`);
    assert.notEqual(body.sha256, before.sha256);
    for (const hash of [body.sha256, before.sha256]) assert.ok(blobs().includes(hash));
    const { body: last } = await send('PATCH', `${media}/${before.id}`, [['file', textFile('no image'), 'new.svg']]);
    assert.deepEqual([last.width, last.height], [null, null]);
  });

  it('keep their file if a form has none or an empty input; the same file is no change', async () => {
    const before = await upload([], 'to stay');
    const path = `${media}/${before.id}`;
    const field = '--b\r\ncontent-disposition: form-data; name="rank"\r\n\r\n8\r\n';
    for (const [answer, rank] of [
      [await send('PATCH', path, [['rank', '7']]), 7],
      [await sendEmpty('PATCH', path, field), 8],
    ] as const) {
      assert.deepEqual([answer.status, answer.body.rank, answer.body.sha256], [200, rank, before.sha256]);
    }
    // The same file may be sent to restore bytes that the store has lost.
    rmSync(join(service.data, 'blobs', before.sha256.slice(0, 2), before.sha256));
    const same = () => send('PATCH', `${media}/${before.id}`, [['file', textFile('to stay')]]);
    assert.equal((await assertRecorded(service, same, [])).status, 200);
    assert.ok(blobs().includes(before.sha256));
  });

  it('are all there, each change once, when several replace one file at the same time', async () => {
    const { id } = await upload();
    const contents = Array.from({ length: 6 }, (_, index) => `version ${index}`);
    const answers = await Promise.all(
      contents.map((content) => send('PATCH', `${media}/${id}`, [['file', textFile(content)]])),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      contents.map(() => 200),
    );
    const hashes = recordedData(service.data, `media/${id}`)
      .slice(1)
      .map(({ set }) => (set as { sha256: string }).sha256);
    assert.deepEqual(hashes.sort(), contents.map(sha256).sort());
    for (const content of contents) assert.ok(blobs().includes(sha256(content)));
  });

  it('leave the bytes of their file when they are deleted', async () => {
    const { id, sha256: hash } = await upload();
    const remove = () => service.call('DELETE', `${media}/${id}`);
    assert.equal((await assertRecorded(service, remove, [`document.deleted media/${id}`])).status, 200);
    assert.equal((await service.call('GET', `${media}/${id}`)).status, 404);
    assert.ok(blobs().includes(hash));
  });
});

describe('An upload that is sent again under its Idempotency-Key', () => {
  it('restores bytes that the store has lost, as a new document and as a new file', async () => {
    const create = () => send('POST', media, [['file', textFile('lost once')]], apiKey, 'create');
    const { body } = await assertRecorded(service, create, ['document.created']);
    const replace = () => send('PATCH', `${media}/${body.id}`, [['file', textFile('lost twice')]], apiKey, 'replace');
    const replaced = await assertRecorded(service, replace, [`document.updated media/${body.id}`]);
    for (const [repeat, first, content] of [
      [create, body, 'lost once'],
      [replace, replaced.body, 'lost twice'],
    ] as const) {
      rmSync(pathOf(content));
      const again = await repeat();
      assert.deepEqual([again.headers.get('idempotent-replayed'), again.body], ['true', first]);
      assert.equal(readFileSync(pathOf(content), 'utf8'), content);
    }
    assert.deepEqual(await download(replaced.body), [200, 'lost twice']);
    assert.deepEqual(readdirSync(join(service.data, 'blobs/incoming')), []);
  });
});

describe('Hooks of an upload collection', () => {
  it('see the file before a change and cannot change what is told of it', async () => {
    const { status, body } = await send('POST', '/api/collections/hooked', [['file', textFile('abc'), 'mine.txt']]);
    assert.equal(status, 201);
    assert.deepEqual(body.seen, ['mine.txt', 'text/plain', 3, sha256('abc')]);
    assert.deepEqual([body.filename, body.sha256, body.after], ['mine.txt', sha256('abc'), 'mine.txt']);
    const changed = await send('PATCH', `/api/collections/hooked/${body.id}`, [['file', textFile('abcd'), 'new.txt']]);
    assert.deepEqual([changed.body.filename, changed.body.seen[1]], ['new.txt', 'text/plain']);
    const json = await service.call('PATCH', `/api/collections/hooked/${body.id}`, { seen: 'x' });
    assert.deepEqual([json.body.filename, json.body.seen], ['new.txt', [null, null, null, null]]);
  });

  it('that refuse leave nothing of the file', async () => {
    const content = 'refused by a hook';
    const { status, body } = await send('POST', '/api/collections/hooked', [
      ['file', textFile(content), 'refused.txt'],
    ]);
    assert.deepEqual([status, body.message], [422, 'not this one']);
    assertNothingOf(content);
  });
});

describe('Access rules of an upload collection', () => {
  it('that look at the body are asked with the fields and what is told of the file', async () => {
    const ruled = '/api/collections/ruled';
    const file = ['file', textFile('short')] as const;
    const refused = 'refused by a rule';
    assert.equal(
      (
        await send(
          'POST',
          ruled,
          [
            ['file', textFile(refused)],
            ['alt', 'theirs'],
          ],
          null,
        )
      ).status,
      401,
    );
    assert.equal(
      (
        await send(
          'POST',
          ruled,
          [
            ['file', new Blob(['<svg/>'])],
            ['alt', 'mine'],
          ],
          null,
        )
      ).status,
      401,
    );
    assertNothingOf(refused);
    const { status, body } = await send('POST', ruled, [file, ['alt', 'mine']], null);
    assert.equal(status, 201);
    const path = `${ruled}/${body.id}`;
    assert.equal((await send('PATCH', path, [['file', textFile('much too long a text')]], null)).status, 401);
    assert.equal((await send('PATCH', path, [['file', textFile('also')]], null)).status, 200);
  });
});
