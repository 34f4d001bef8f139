import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { annalsWords } from '../../helpers/command.ts';
import { useServiceHere } from '../../helpers/embedded.ts';
import { runHere } from '../../helpers/in-process.ts';
import { spreadOf } from '../../helpers/rounds.ts';
import { inherited, writeConfig } from '../../helpers/service.ts';
import { recordedData, recordedEvents, useFolder } from '../../helpers/shared.ts';

const config = {
  collections: [
    {
      slug: 'items',
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'code', type: 'text', unique: true },
        { name: 'parent', type: 'relationship', relationTo: 'items' },
      ],
    },
  ],
};
const service = useServiceHere(config);
const folder = useFolder();
const configFile = writeConfig(folder, config);

/**
 * Rows without a unique value, so that one that is written twice is not refused; some are wrong, and some name an
 * earlier one.
 */
function rowsOf(start: string, count: number) {
  return Array.from({ length: count }, (_, index) => ({
    id: `${start}${index}`,
    ...(index % 301 === 150 ? {} : { title: `${start}${index}` }),
    ...(index % 97 === 96 && { parent: `${start}${index - 40}` }),
  }));
}

const linesOf = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/**
 * Starts an import as a process, and kills it as soon as the moment has come. True if it was killed, and had not ended
 * before.
 */
async function killed(args: readonly string[], moment: () => boolean): Promise<boolean> {
  const [file = '', ...words] = annalsWords();
  const child = spawn(file, [...words, ...args], { env: inherited(), stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('close', resolve));
  while (!moment() && child.exitCode === null) await wait(1);
  await wait(Math.random() * 30);
  child.kill('SIGKILL');
  await ended;
  return child.signalCode === 'SIGKILL';
}

/** The titles of the documents in the order of their events. */
function titlesIn(data: string, start: string): string[] {
  return recordedEvents(data)
    .filter(({ type }) => type === 'document.created')
    .map(({ stream }) => String((recordedData(data, stream)[0] as { title: string }).title))
    .filter((title) => title.startsWith(start));
}

describe('annals import that is killed', () => {
  for (const isAlone of spreadOf([false, true], 1)) {
    it(`goes on and repeats nothing, ${isAlone ? 'with the service that it runs itself' : 'beside a running service'}`, async () => {
      await service.call('GET', '/api/collections/items');
      const start = isAlone ? 'a' : 'b';
      const data = isAlone ? join(folder, 'alone') : service.data;
      const rows = rowsOf(start, 900);
      const file = join(folder, `${start}.ndjson`);
      writeFileSync(file, linesOf(rows));
      const args = ['import', 'items', file, '--data', data, '--config', configFile];
      const [record, sending] = [`${file}.imported`, `${file}.imported.sending`];
      const lines = () => (existsSync(record) ? readFileSync(record, 'utf8').split('\n').length : 0);
      // While a call is made; between calls; while rows are written one by one.
      const moments = [
        () => existsSync(sending),
        () => lines() > 3,
        () => existsSync(record) && readFileSync(record, 'utf8').includes('{"single"'),
        () => existsSync(sending),
      ];
      let kills = 0;
      for (const moment of moments) kills += (await killed(args, moment)) ? 1 : 0;
      assert.ok(kills >= 2, `${kills} kills`);
      const { code, stdout, stderr } = await runHere(args);
      const titles = rows.flatMap(({ title }) => title ?? []);
      assert.deepEqual([code, stdout.endsWith(`${rows.length - titles.length} refused\n`)], [1, true], stdout);
      for (const [index, { title }] of rows.entries()) {
        assert.equal(stderr.includes(`row ${index + 1}: title is required\n`), title === undefined);
      }
      assert.deepEqual(titlesIn(data, start), titles);
      assert.ok(!existsSync(sending));
    });
  }

  it('finishes the call with its rows as they were, and takes a row changed since as new', async () => {
    await service.call('GET', '/api/collections/items');
    const rows = rowsOf('c', 120);
    const file = join(folder, 'c.ndjson');
    const sending = `${file}.imported.sending`;
    const args = ['import', 'items', file, '--data', service.data, '--config', configFile];
    for (let count = 0; !existsSync(sending); count += 1) {
      assert.ok(count < 10, 'no call was being made at any kill');
      writeFileSync(file, linesOf(rows.slice(0, 12 * (count + 1))));
      await killed(args, () => existsSync(sending));
    }
    const [, text = ''] = readFileSync(sending, 'utf8').split('\n');
    const sent: { title: string }[] = JSON.parse(text).docs;
    const before = titlesIn(service.data, 'c');
    const others = rows.map((row) => (row.title === sent[3]?.title ? { ...row, title: 'c-mended' } : row));
    const expected = new Set([
      ...before,
      ...sent.map(({ title }) => title),
      ...others.map(({ title }) => String(title)),
    ]);
    writeFileSync(file, linesOf(others));
    assert.equal((await runHere(args)).code, 0);
    assert.deepEqual(titlesIn(service.data, 'c').sort(), [...expected].sort());
  });
});
