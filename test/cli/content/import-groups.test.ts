import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { SentRow } from '../../../cli/content/kept-call.ts';
import { type ImportedRow, openState } from '../../../cli/content/state.ts';
import { useServiceHere } from '../../helpers/embedded.ts';
import { runHere } from '../../helpers/in-process.ts';
import { assertRecorded } from '../../helpers/recorded.ts';
import { writeConfig } from '../../helpers/service.ts';
import { recordedEvents, useFolder } from '../../helpers/shared.ts';

const limits = { body: 80_000, bulkBody: 64_000 };
const config = `export default {
  bcryptCost: 4,
  limits: ${JSON.stringify(limits)},
  collections: [
    {
      slug: 'items',
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'code', type: 'text', unique: true },
        { name: 'mail', type: 'email', unique: true },
        { name: 'text', type: 'textarea' },
        { name: 'parent', type: 'relationship', relationTo: 'items' },
        { name: 'parts', type: 'relationship', relationTo: 'items', hasMany: true },
      ],
      hooks: {
        beforeChange: [({ data }) => {
          if (data.title === 'broken') throw new Error('a fault of the hook');
          if (data.title === 'teapot') throw Object.assign(new Error('no tea'), { statusCode: 418 });
          return data;
        }],
      },
    },
    { slug: 'users', auth: true, fields: [{ name: 'name', type: 'text' }] },
  ],
};`;
const service = useServiceHere(config);
const folder = useFolder();
const configFile = writeConfig(folder, config);
let files = 0;

type Item = { id: string; title: string; code: string | null; parent: string | null; parts: string[] };

function fileOf(rows: readonly object[]): string {
  files += 1;
  return rewritten(join(folder, `${files}.ndjson`), rows);
}

function rewritten(file: string, rows: readonly object[]): string {
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return file;
}

async function imported(file: string, ...flags: string[]) {
  await service.call('GET', '/api/collections/items?limit=1');
  return runHere(['import', 'items', file, ...flags, '--data', service.data, '--config', configFile]);
}

/** The documents whose code begins like this, in the order in which they were created. */
async function itemsOf(start: string): Promise<Item[]> {
  const where = encodeURIComponent(JSON.stringify({ code: { like: start } }));
  const found: Item[] = [];
  for (let page = 1; ; page += 1) {
    const { body } = await service.call('GET', `/api/collections/items?limit=100&page=${page}&sort=id&where=${where}`);
    found.push(...body.docs.filter(({ code }: Item) => code?.startsWith(start)));
    if (!body.hasNextPage) return found;
  }
}

const many = (start: string, count: number): { title: string; code: string }[] =>
  Array.from({ length: count }, (_, index) => ({ title: `T${index}`, code: `${start}${index}` }));
const created = (count: number, more = '') => `${count} created, 0 updated, 0 unchanged, ${more}0 refused\n`;

/** The numbers of events in the bulk calls that were recorded after a position; 0 for an event by itself. */
function callsAfter(position: number): number[] {
  const events = recordedEvents(service.data).filter((event) => event.position > position);
  const batches = Map.groupBy(events, ({ batch, position: at }) => batch ?? `at ${at}`);
  return [...batches].map(([name, of]) => (name.startsWith('at ') ? 0 : of.length));
}
const position = () => recordedEvents(service.data).length;

describe('annals import in bulk calls', () => {
  it('imports 1,001 rows in few calls, in the order of the file, and none of them twice', async () => {
    const rows = many('k', 1001);
    const file = fileOf(rows);
    const start = position();
    const event = { type: 'document.created', actor: { type: 'system' } } as const;
    const all = Array.from({ length: 1001 }, () => event);
    const { code, stdout, stderr } = await assertRecorded(service, () => imported(file), all);
    assert.deepEqual([code, stdout, stderr], [0, created(1001), '']);
    assert.deepEqual(
      (await itemsOf('k')).map((item) => item.code),
      rows.map((row) => row.code),
    );
    assert.deepEqual(callsAfter(start), [200, 200, 200, 200, 200, 0]);
    assert.ok(!existsSync(`${file}.imported.sending`));
    const again = await assertRecorded(service, () => imported(file), []);
    assert.equal(again.stdout, created(0, '1001 imported before, '));
  });

  it('names the row of each refusal, in their order, and imports the others', async () => {
    const rows: object[] = many('r', 30);
    rows[4] = { code: 'r4' };
    rows[9] = { title: 'Taken', code: 'r2' };
    rows[19] = { title: 'teapot' };
    rows[29] = { title: 'Last' };
    const file = fileOf(rows);
    appendFileSync(file, '{\n');
    const { code, stdout, stderr } = await imported(file);
    assert.deepEqual([code, stdout], [1, '27 created, 0 updated, 0 unchanged, 4 refused\n']);
    assert.equal(
      stderr,
      ['row 5: title is required', 'row 10: code is taken by another document', 'row 20: no tea', 'row 31: is not JSON']
        .map((line) => `${file}: ${line}\n`)
        .join(''),
    );
    const again = await assertRecorded(service, () => imported(file), []);
    assert.deepEqual(
      [again.stdout, again.stderr],
      ['0 created, 0 updated, 0 unchanged, 27 imported before, 4 refused\n', stderr],
    );
    // The last row has been written by itself, and its line is lost: it stays by itself beside the mended rows.
    const record = readFileSync(`${file}.imported`, 'utf8');
    writeFileSync(`${file}.imported`, record.slice(0, record.lastIndexOf('{"key"')));
    for (const index of [4, 9, 19]) rows[index] = { title: 'Mended', code: `r${index}` };
    const event = 'document.created';
    const mended = await assertRecorded(service, () => imported(rewritten(file, rows)), [event, event, event]);
    assert.equal(mended.stdout, created(4, '26 imported before, '));
  });

  it('imports the rows before one over which the service fails', async () => {
    const rows = many('f', 6);
    rows[3] = { title: 'broken', code: 'f3' };
    const file = fileOf(rows);
    for (const more of ['', '3 imported before, ']) {
      const { code, stderr } = await imported(file);
      assert.deepEqual([code, stderr], [2, 'An internal server error occurred\n'], more);
      assert.equal((await itemsOf('f')).length, 3);
    }
    rows[3] = { title: 'whole', code: 'f3' };
    assert.equal((await imported(rewritten(file, rows))).stdout, created(3, '3 imported before, '));
  });

  it('follows relationships to earlier rows of the same file, by id, by a unique field and to several', async () => {
    const rows = [
      { id: 'a', title: 'A', code: 's-a' },
      { id: 'b', title: 'B', code: 's-b', parent: 'a' },
      { id: 'c', title: 'C', code: 's-c', parent: { code: 's-b' }, parts: ['a', { code: 's-b' }] },
      { id: 'd', title: 'D', code: 's-d', parent: 'e' },
      { id: 'e', title: 'E', code: 's-e', parent: { code: 's-none' } },
      { id: 'f', title: 'F', code: 's-f', parent: 'a' },
    ];
    const file = fileOf(rows);
    const { stdout, stderr } = await imported(file);
    assert.equal(stdout, '4 created, 0 updated, 0 unchanged, 2 refused\n');
    assert.match(stderr, /row 4: parent .*\n.*row 5: parent: there is no document of items with the code "s-none"\n$/);
    const [a, b, c, f] = await itemsOf('s-');
    assert.deepEqual(
      [a, b, c, f].map((item) => item?.parent),
      [null, a?.id, b?.id, a?.id],
    );
    assert.deepEqual(c?.parts, [a?.id, b?.id]);
    Object.assign(rows[4] ?? {}, { parent: { code: 's-a' } });
    // A row before the one that it names is imported by the next run.
    const second = await imported(rewritten(file, rows));
    assert.equal(second.stdout, '1 created, 0 updated, 0 unchanged, 4 imported before, 1 refused\n');
    assert.equal((await imported(file)).stdout, created(1, '5 imported before, '));
    const [e, d] = (await itemsOf('s-')).slice(-2);
    assert.deepEqual([e?.parent, d?.parent], [a?.id, e?.id]);
  });

  it('sends as many bytes at once as a call may have, and a larger row by itself', async () => {
    const sizes = [10_000, 63_800, 100, 63_940, 70_000, 90_000, 20_000, 20_000, 20_000, 20_000];
    const rows = sizes.map((size, index) => {
      const row = { title: 'L', code: `l${index}`, text: '' };
      return { ...row, text: 'é'.repeat((size - JSON.stringify(row).length) / 2) };
    });
    const file = fileOf(rows);
    const start = position();
    const { stdout, stderr } = await imported(file);
    assert.equal(stdout, '9 created, 0 updated, 0 unchanged, 1 refused\n');
    assert.equal(stderr, `${file}: row 6: the body must be at most 80000 bytes\n`);
    assert.deepEqual(callsAfter(start), [0, 2, 0, 0, 3, 0]);
  });

  it('makes accounts without passwords', async () => {
    const rows = ['ann', 'ben', 'cy'].map((name) => ({ email: `${name}@example.org`, name }));
    const start = position();
    const args = ['import', 'users', fileOf(rows), '--data', service.data, '--config', configFile];
    assert.equal((await runHere(args)).stdout, created(3));
    assert.deepEqual(callsAfter(start), [3]);
  });

  it('changes and creates by a unique field as one by one, a document that comes twice too', async () => {
    const start = position();
    const rows = [
      ...many('u', 5),
      { title: 'Again', code: 'u1' },
      { title: 'New', code: 'u5', parent: { code: 'u1' } },
    ];
    const file = fileOf(rows);
    const first = await imported(file, '--upsert', 'code');
    assert.deepEqual([first.stdout, first.stderr], ['6 created, 1 updated, 0 unchanged, 0 refused\n', '']);
    assert.deepEqual(callsAfter(start), [5, 0, 0]);
    const changed = [
      { title: 'T0', code: 'u0' },
      { title: 'Other', code: 'u2' },
      { code: 'u9' },
      { title: 'X' },
      { title: 'Y', code: 'u8' },
    ];
    const second = await imported(rewritten(file, changed), '--upsert', 'code');
    assert.equal(second.stdout, '1 created, 1 updated, 1 unchanged, 2 refused\n');
    assert.equal(
      second.stderr,
      `${file}: row 3: title is required\n${file}: row 4: code is missing: --upsert finds the document by it\n`,
    );
    // By a field that an earlier row gives away: no document has it then.
    await imported(rewritten(file, [{ title: 'M', code: 'm0', mail: 'old@example.org' }]));
    const moved = [
      { code: 'm0', mail: 'new@example.org' },
      { title: 'N', code: 'm1', parent: { mail: 'old@example.org' } },
    ];
    const third = await imported(rewritten(file, moved), '--upsert', 'code');
    assert.equal(third.stdout, '0 created, 1 updated, 0 unchanged, 1 refused\n');
  });

  it('finishes a call that was being made, whatever of it was recorded, and forgets one that was not made', async () => {
    const rows = many('w', 8);
    const file = fileOf(rows);
    const [record, sending] = [`${file}.imported`, `${file}.imported.sending`];
    assert.equal((await imported(file)).code, 0);
    const [head = '', line = ''] = readFileSync(record, 'utf8').split('\n');
    const state = openState(record, { log: JSON.parse(head).log, source: null }, true);
    const sent: SentRow[] = JSON.parse(line).rows.map(({ id, ...row }: ImportedRow) => row);
    const call = { path: '/api/collections/items/bulk', reason: 'imported by annals import', rows: sent };
    const begin = () =>
      state.begin({
        ...call,
        key: state.writeKey(...sent.map(({ key }) => key)),
        text: JSON.stringify({ docs: rows }),
      });
    // First the answer of the call was not written down; then it was, but the call was not forgotten.
    for (const [before, stdout] of [
      [`${head}\n`, created(8)],
      [`${head}\n${line}\n`, created(0, '8 imported before, ')],
    ] as const) {
      writeFileSync(record, before);
      await begin();
      const ended = await assertRecorded(service, () => imported(file), []);
      assert.deepEqual([ended.code, ended.stdout], [0, stdout]);
      assert.equal(readFileSync(record, 'utf8'), `${head}\n${line}\n`);
    }
    // A call of another record, and a call that is not whole.
    await begin();
    const whole = readFileSync(sending, 'utf8');
    for (const other of [whole.replace(/"import":"[^"]*"/, '"import":"x"'), whole.slice(0, -2)]) {
      writeFileSync(sending, other);
      writeFileSync(record, `${head}\n`);
      await assertRecorded(service, () => imported(file), []);
      assert.ok(!existsSync(sending));
    }
    writeFileSync(sending, '{}\n[]\n');
    const wrong = await imported(file);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /sending is not the call of an import; remove it, or name another file with --state/);
  });

  it('gives the documents that single writes would, whatever the rows', async () => {
    let run = 0;
    const row = fc.record({
      kind: fc.constantFrom('good', 'good', 'good', 'untitled', 'twice', 'password'),
      to: fc.nat(11),
      by: fc.constantFrom('none', 'id', 'code'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 2, maxLength: 12 }), async (kinds) => {
        run += 1;
        const start = `p${run}-`;
        const rows = kinds.map(({ kind, to, by }, index) => ({
          id: `${index}`,
          ...(kind === 'untitled' ? {} : { title: `T${index}` }),
          code: `${start}${kind === 'twice' ? 0 : index}`,
          ...(kind === 'password' && { password: 'secret' }),
          ...(by === 'id' && to < index && { parent: `${to}` }),
          ...(by === 'code' && { parent: { code: `${start}${to}` } }),
        }));
        // A model of writes one by one.
        const made: { code: string; parent: string | null; id: string }[] = [];
        for (const [index, { code, ...rest }] of rows.entries()) {
          const { kind, to, by } = kinds[index] as (typeof kinds)[number];
          const isTaken = made.some((one) => one.code === code);
          const parent =
            by === 'code'
              ? made.find((one) => one.code === `${start}${to}`)
              : by === 'id' && to < index
                ? made.find(({ id }) => id === `${to}`)
                : null;
          if (parent === undefined || isTaken || kind === 'password' || !('title' in rest)) continue;
          made.push({ code, id: `${index}`, parent: parent?.code ?? null });
        }
        const { stdout } = await imported(fileOf(rows));
        assert.equal(stdout, `${made.length} created, 0 updated, 0 unchanged, ${rows.length - made.length} refused\n`);
        const found = await itemsOf(start);
        const codes = new Map(found.map(({ id, code }) => [id, code]));
        assert.deepEqual(
          found.map(({ code, parent }) => ({ code, parent: parent === null ? null : codes.get(parent) })),
          made.map(({ code, parent }) => ({ code, parent })),
        );
      }),
      { numRuns: Number(process.env.TEST_RUNS ?? 10) },
    );
  });
});
