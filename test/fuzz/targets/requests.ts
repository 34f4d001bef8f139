import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { Request } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import { cookieOf } from '../../../server/callers/cookies.ts';
import { signedClaims, signToken } from '../../../server/callers/tokens.ts';
import { expectedVersions } from '../../../server/documents/concurrency/etags.ts';
import { inspectFile } from '../../../server/files/inspection/inspect.ts';
import { readParts } from '../../../server/files/uploads/multipart.ts';
import { namesTag, OutOfRangeError, rangeOf } from '../../../server/http/ranges.ts';
import { noteReason } from '../../../server/http/reason.ts';
import { createCursors, type ListPoint } from '../../../server/queries/cursors.ts';
import * as samples from '../../files/inspection/samples.ts';
import type { HereService } from '../../helpers/embedded.ts';
import { request } from '../../helpers/requests.ts';
import { orRefused, orRefusedLater, type Target } from '../target.ts';

const isInvalid = (error: unknown) => error instanceof DomainError && error.code === 'validation_failed';
const bytesOf = (texts: readonly string[]) => texts.map((text) => Buffer.from(text));

type ReadPart = { head: { name: string; filename: string | null; type: string }; content: string };

/** A form that arrives in pieces of a length. */
async function partsOf(input: Buffer, length: number): Promise<ReadPart[] | null> {
  let at = 0;
  const source = async () => {
    at += length;
    return at - length < input.length ? input.subarray(at - length, at) : null;
  };
  const parts: ReadPart[] = [];
  const read = async () => {
    for await (const { content, ...head } of readParts(source, 'b')) {
      const chunks: Buffer[] = [];
      for await (const chunk of content) chunks.push(chunk);
      parts.push({ head, content: Buffer.concat(chunks).toString('latin1') });
    }
    return parts;
  };
  return orRefusedLater(read, isInvalid);
}

/** A body of `multipart/form-data`: it is the same in whatever pieces it comes, and no byte of it is in two parts. */
const forms: Target = {
  seeds: bytesOf([
    '--b\r\ncontent-disposition: form-data; name="title"\r\n\r\nx\r\n--b--\r\n',
    '--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\ncontent-type: text/plain\r\n\r\nsome text\r\n--b\r\n' +
      'content-disposition: form-data; name="a"\r\n\r\n\r\n--b--',
    "--b\r\ncontent-disposition: form-data; name=x; filename*=UTF-8''%e2%82%ac\r\n\r\n\r\n--b--\r\n",
  ]),
  words: [
    '\r\n--b',
    '--b',
    '--',
    '\r\n',
    '\r\n\r\n',
    'content-disposition: ',
    'form-data',
    '; name=',
    '; filename=',
    '"',
    '\\"',
    '\\',
    "filename*=UTF-8''",
    '%22',
    ';',
    '=',
    ' ',
    '\t',
    'content-type: ',
    'content-transfer-encoding: base64',
  ],
  async read(input) {
    const parts = await partsOf(input, input.length + 1);
    assert.ok((parts ?? []).reduce((sum, { content }) => sum + content.length, 0) <= input.length);
    // Byte by byte a long one would take too long.
    const small = Math.max(1, Math.ceil(input.length / 300));
    for (const length of [small, 7 * small]) assert.deepEqual(await partsOf(input, length), parts);
  },
};

const cursor: ListPoint = { mark: ['x', 1, null], position: null };
const list = { sort: '-title', 'where[title][like]': 'x' };
const cursors = createCursors('a secret of the test');

/** A cursor: one without a valid MAC is refused. */
const places: Target = {
  seeds: bytesOf([cursors.seal(cursor, 'posts', list)]),
  words: ['A', '-', '_', '=', '+', '%00'],
  read(input) {
    const place = orRefused(() => cursors.open(input.toString(), 'posts', list), isInvalid);
    if (place) assert.deepEqual(place, cursor);
  },
};

const claims = { sub: 'x', collection: 'users', sid: 'y' };
const secret = 'a secret of the test that is long enough';
const token = signToken([secret], claims, { ttlSec: 1000, now: Date.UTC(2026, 10, 29) });

/** A token: one without a valid signature is refused. */
const tokens: Target = {
  seeds: bytesOf([token, `${Buffer.from('{"alg":"none"}').toString('base64url')}.${token.split('.')[1]}.`]),
  words: ['.', '=', 'e30', Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url'), '\n', ' '],
  read(input) {
    const found = signedClaims([secret], null, input.toString());
    if (found) assert.deepEqual({ ...found, iat: 0, exp: 0 }, { ...claims, iat: 0, exp: 0 });
  },
};

/** A request with no more than what the readers of headers look at. */
const asking = (headers: Record<string, string>) =>
  ({ headers, app: {} }) as Pick<Request, 'headers' | 'app'> as Request;
const fileSize = 1000;

/** Headers that we read ourselves, each as if it had this value, as Node gives it: a character for each byte. */
const headers: Target = {
  seeds: bytesOf([
    ...[
      'bytes=0-3',
      'bytes=-5',
      'bytes=999-',
      '"1-x", W/"22-y"',
      '*',
      'annals-users=a.b.c; x=y',
      "UTF-8''%e2%82%ac",
      'why not',
    ],
  ]),
  words: [
    'bytes=',
    '-',
    ',',
    '"',
    'W/',
    '*',
    ';',
    '=',
    'annals-users',
    "UTF-8''",
    '%e2',
    '%',
    ' ',
    '\t',
    '9007199254740993',
    '1-',
  ],
  read(input) {
    const value = input.toString('latin1');
    const range = orRefused(
      () => rangeOf(value, fileSize),
      (error) => error instanceof OutOfRangeError,
    );
    if (range) assert.ok(range.start >= 0 && range.start <= range.end && range.end < fileSize, JSON.stringify(range));
    assert.equal(typeof namesTag(value, '"1-x"'), 'boolean');
    const versions = orRefused(() => expectedVersions(asking({ 'if-match': value })), isInvalid);
    if (versions && versions !== '*') for (const one of versions) assert.ok(one >= 0, String(one));
    const cookie = cookieOf(asking({ cookie: value }), 'annals-users');
    if (cookie !== null) assert.match(cookie, /^[^;]+$/);
    const reasoned = asking({ 'x-change-reason': value });
    orRefused(() => noteReason(reasoned, null, null), isInvalid);
    const { reason = null } = reasoned.app;
    if (reason !== null) assert.ok([...reason].length <= 500 && !/\p{Cc}/u.test(reason) && reason.trim() !== '');
  },
};

const folder = mkdtempSync(join(tmpdir(), 'annals-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** An uploaded file: it has a type, and a width if it has a height. */
const files: Target = {
  seeds: [
    ...[
      samples.png(),
      samples.jpeg(20, 30, 6),
      samples.gif(),
      samples.bmp(),
      samples.webp(),
      samples.jp2(),
      samples.ico(),
    ],
    ...[samples.heif('avif', [samples.ispe(20, 30), samples.clap(19, 29), samples.irot(1)]), samples.jxlInBoxes],
    ...[
      samples.tiff(),
      samples.icns(),
      samples.psd(),
      samples.docx,
      samples.mp4,
      samples.mp3,
      samples.pdf,
      samples.woff2,
    ],
    ...bytesOf([
      '<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a "b">]><svg width="20" height="30" viewBox="0 0 1 1"/>',
    ]),
    ...bytesOf([
      '<!doctype html><p>x',
      '\ufeff<svg xmlns="http://www.w3.org/2000/svg" width="1em" height="20%"></svg>',
      'BEGIN:VCARD',
    ]),
  ],
  words: [
    '<svg',
    '<!--',
    '-->',
    '<!DOCTYPE ',
    '<?xml',
    '?>',
    '<![CDATA[',
    ' width="',
    'viewBox=',
    '"',
    "'",
    '>',
    '1e999',
    'ftyp',
    'ispe',
    'IHDR',
    '\xff',
    'RIFF',
    '<script',
    '&#x',
  ],
  async read(input) {
    const { look, finish } = inspectFile({ maxFileSize: 1_000_000, mimeTypes: null });
    const path = join(folder, 'file');
    writeFileSync(path, input);
    const found = await orRefusedLater(async () => {
      await look(input);
      return finish(path);
    }, isInvalid);
    if (!found) return assert.equal(input.length, 0);
    const { mimeType, width, height } = found;
    assert.match(mimeType, /^[a-z]+\/[\w.+-]+$/);
    assert.equal(width === null, height === null);
    for (const one of [width, height]) if (one !== null) assert.ok(Number.isInteger(one) && one > 0 && one < 2 ** 31);
  },
};

/** Node takes 16 KiB of headers, and no longer address. */
const longestAddress = 6000;

/** Every type of field that a query can name. */
export const queried = {
  bcryptCost: 4,
  rateLimit: false as const,
  collections: [
    {
      slug: 'all',
      admin: { searchFields: ['name'] },
      fields: [
        { name: 'name', type: 'text' as const, index: true },
        { name: 'n', type: 'number' as const },
        { name: 'flag', type: 'boolean' as const },
        { name: 'day', type: 'date' as const },
        { name: 'at', type: 'datetime' as const },
        { name: 'choice', type: 'multiSelect' as const, options: ['a', 'b'] },
        { name: 'data', type: 'json' as const },
        { name: 'box', type: 'object' as const, fields: [{ name: 'n', type: 'number' as const }] },
        { name: 'list', type: 'array' as const, fields: [{ name: 'word', type: 'text' as const }] },
        { name: 'next', type: 'relationship' as const, relationTo: 'all' },
        { name: 'others', type: 'relationship' as const, relationTo: 'all', hasMany: true as const },
      ],
    },
  ],
};

/**
 * The address of a list and of what is like one: whatever the query is, it is answered, or refused with a 4xx that
 * tells nothing of the inside.
 */
function queries(service: Pick<HereService, 'url' | 'lines'>): Target {
  return {
    seeds: bytesOf([
      ...['?where[name][like]=x&sort=-n&limit=2', '?where[or][0][n][greater_than]=1&where[or][1][next.name][equals]=x'],
      ...[
        '?where={"and":[{"n":{"in":[1,2]}},{"list.word":{"exists":false}}]}',
        '?q=a "b c"&select=name,next.name&depth=2',
      ],
      ...['/aggregate?groupBy=choice,at.month&sum=n&max=day', '/distinct?field=next.name&where[flag][equals]=true'],
      ...[
        '/count?where[at][less_than]=2026-11-29',
        '/trash?limit=1',
        '?next=&limit=1&sort=name',
        '?asOf=1',
        '?count=none',
      ],
    ]),
    words: [
      'where',
      '[',
      ']',
      '[and]',
      '[or]',
      '[0]',
      '=',
      '&',
      'sort=',
      'q=',
      'select=',
      'asOf=',
      'next=',
      'groupBy=',
      'name',
      'next.',
      'others.',
      'list.word',
      'box.n',
      '[equals]=',
      '[like]=',
      '[in]=',
      '[near]=',
      '[contains]=',
      '%',
      '%00',
      '%ED%A0%80',
      "'",
      '"',
      '{',
      '}',
      '-',
      ',',
      '__proto__',
      'NULL',
      '*',
      ';',
      '1e999',
      'é',
      '😀',
    ],
    async read(input) {
      const begun = service.lines().length;
      const path = input
        .toString()
        .slice(0, 3000)
        .replaceAll(/[^!-~]|#/gu, (one) => encodeURIComponent(one.toWellFormed()))
        .slice(0, longestAddress);
      const { status, body } = await request(service.url, 'GET', `/api/collections/all${path}`);
      const text = JSON.stringify(body);
      assert.ok(status < 500 || (status === 503 && /asOf/.test(path)), `${status} ${text}`);
      if (status >= 400)
        assert.doesNotMatch(body.message.replace(/got .*/s, ''), /SQLITE|\bSELECT\b|node_modules|\.ts:/);
      const faults = service
        .lines()
        .slice(begun)
        .filter(({ level }) => level >= 50);
      assert.deepEqual(faults, []);
    },
  };
}

/** Parsers of requests. */
export function requests(service: Pick<HereService, 'url' | 'lines'>): Record<string, Target> {
  return { forms, cursors: places, tokens, headers, files, queries: queries(service) };
}
