import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { readParts } from '../../../server/files/uploads/multipart.ts';

type Read = { name: string; filename: string | null; type: string; content: Buffer };

/** Reads a body that arrives in pieces of these lengths, over and over. */
async function read(body: string | Buffer, lengths: readonly number[] = [7], boundary = 'b'): Promise<Read[]> {
  const bytes = Buffer.from(body as string);
  let at = 0;
  let turn = 0;
  const source = async () => {
    if (at >= bytes.length) return null;
    const length = lengths[turn++ % lengths.length] ?? 1;
    at += length;
    return bytes.subarray(at - length, at);
  };
  const parts: Read[] = [];
  for await (const { content, ...head } of readParts(source, boundary)) {
    const chunks: Buffer[] = [];
    for await (const chunk of content) chunks.push(chunk);
    parts.push({ ...head, content: Buffer.concat(chunks) });
  }
  assert.ok(at >= bytes.length, 'it is read to its end');
  return parts;
}

const disposition = (rest: string) => `content-disposition: form-data; ${rest}`;
const part = (head: string, content = 'x') => `--b\r\n${head}\r\n\r\n${content}\r\n`;
const form = (...parts: string[]) => `${parts.join('')}--b--\r\n`;

describe('readParts', () => {
  it('gives every part as it was sent, in whatever pieces it arrives', async () => {
    // Bytes that look like boundaries, and ends that look like the beginning of one.
    const pieces = fc.array(fc.constantFrom('\r', '\n', '-', '--', 'b', 'bo', '\r\n--', '\r\n--bo', '\0', 'é', 'x'));
    const content = pieces.map((texts) => texts.join('')).filter((text) => !`\r\n${text}`.includes('\r\n--bound'));
    const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(fc.array(content), lengths, content, async (contents, chunks, around) => {
        const parts = contents.map((text, index) => {
          return `--bound\r\n${disposition(`name="n${index}"`)}\r\n\r\n${text}\r\n`;
        });
        const found = await read(`${around}\r\n${parts.join('')}--bound--${around}`, chunks, 'bound');
        assert.deepEqual(
          found.map(({ name, content: bytes }) => [name, bytes.toString()]),
          contents.map((text, index) => [`n${index}`, text]),
        );
      }),
    );
  });

  it('reads what Node writes', async () => {
    const data = new FormData();
    data.append('naïve "name"', 'välue\r\n');
    data.append('file', new Blob(['bytes'], { type: 'text/x-odd' }), 'a "quoted" ñame\n.txt');
    const request = new Request('http://x', { method: 'POST', body: data });
    const boundary = /boundary=(.*)/.exec(request.headers.get('content-type') ?? '')?.[1] ?? '';
    assert.deepEqual(await read(Buffer.from(await request.arrayBuffer()), [5], boundary), [
      { name: 'naïve "name"', filename: null, type: '', content: Buffer.from('välue\r\n') },
      { name: 'file', filename: 'a "quoted" ñame\n.txt', type: 'text/x-odd', content: Buffer.from('bytes') },
    ]);
  });

  it('reads names as clients write them', async () => {
    for (const [written = '', filename] of [
      ['filename="raw ü 💾.txt"', 'raw ü 💾.txt'],
      ['filename="curl \\"quotes\\" and \\\\.txt"', 'curl "quotes" and \\.txt'],
      ['filename="browser %22quotes%22.txt"', 'browser "quotes".txt'],
      ['filename="C:\\dir\\file; name=x.txt"', 'C:\\dir\\file; name=x.txt'],
      ['filename=token.txt', 'token.txt'],
      ['filename="ends with \\"', 'ends with \\'],
      ['FileName = "case.txt"', 'case.txt'],
      ['filename=""', ''],
      ['filename="50%25 %2e.txt"', '50%25 %2e.txt'],
      ['filename="old.txt"; filename*=UTF-8\'\'na%C3%AFve%20%22.txt', 'naïve ".txt'],
      ["filename*=iso-8859-1'en'%A3.txt", '£.txt'],
      ['filename="folded";\r\n x=y', 'folded'],
    ]) {
      const [found] = await read(form(part(disposition(`name="file"; ${written}`))));
      assert.equal(found?.filename, filename, written);
    }
  });

  it('refuses what is malformed, cut off, or would be lost', async () => {
    const named = disposition('name="a"');
    for (const [body, message] of [
      ['', /ends before its closing boundary/],
      ['nothing like it', /ends before/],
      [part(named), /ends before/],
      [`${part(named)}--b`, /ends before/],
      [`${part(named)}--b-`, /ends before/],
      [`--b\r\n${named}\r\n`, /ends before/],
      [form(part('x: y')), /has no header like: content-disposition/],
      [form('--b\r\n\r\nno headers\r\n'), /has no header like/],
      [form(part(disposition('filename="x"'))), /has no header like/],
      [form(part('content-disposition: attachment; name="a"')), /content-disposition of a part is malformed/],
      [form(part('content-disposition: form-data')), /has no header like/],
      ...[
        'name="a',
        'name="a"; name="b"',
        'name="a"b',
        'name="a"; filename',
        'name="a"; filename=x filename=y',
        'name="a"; filename="x"; FILENAME="y"',
        'name="a"; filename*=UTF-8\'\'%FF',
        'name="a"; filename*=latin-9\'\'x',
        `name="${'\\'.repeat(12_000)}`,
        `name=${'a ;'.repeat(5000)}`,
      ].map((wrong) => [form(part(disposition(wrong))), /the content-disposition of a part is malformed/] as const),
      [form(part(`${named}\r\n${named}`)), /a header twice/],
      [form(part(`${named}\r\nno colon`)), /the headers of a part are malformed/],
      [form(part(`${named}\r\na: b\nc: d`)), /the headers of a part are malformed/],
      [form(part(`${named}\r\nx: ${'y'.repeat(20_000)}`)), /longer than 16384 bytes/],
      [form(part(`${named}\r\ncontent-type: multipart/mixed; boundary=c`)), /is multipart itself/],
      [form(part(`${named}\r\ncontent-transfer-encoding: base64`)), /content-transfer-encoding/],
      [form(`--bx\r\n${named}\r\n\r\nx\r\n`), /something stands behind a boundary/],
      [form(`--b${' '.repeat(1000)}\r\n${named}\r\n\r\nx\r\n`), /something stands behind a boundary/],
    ] as const) {
      await assert.rejects(read(body, [1000]), { code: 'validation_failed', message }, body.slice(0, 100));
    }
    const broken = Buffer.from(form(part(disposition('name="a"; filename="\xff\xfe"'))), 'latin1');
    await assert.rejects(read(broken), { message: /the headers of a part are not valid UTF-8/ });
  });

  it('skips what is not read, and takes no more from the source than is asked for', async () => {
    const chunks = [
      part(disposition('name="a"'), 'a long text').slice(0, -6),
      'text\r\n',
      form(part(disposition('name="b"'))),
    ];
    let taken = 0;
    const source = async () => (taken < chunks.length ? Buffer.from(chunks[taken++] as string) : null);
    const parts = readParts(source, 'b');
    const names: unknown[] = [];
    for (const so of [1, 3]) {
      names.push((await parts.next()).value?.name);
      assert.equal(taken, so);
    }
    assert.deepEqual([names, (await parts.next()).done], [['a', 'b'], true]);
  });
});
