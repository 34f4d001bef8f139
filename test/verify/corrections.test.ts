import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { run } from '../../verify/annals-verify.mjs';
import { useFolder } from '../helpers/shared.ts';
import { useArchives } from './archives.ts';
import { bundleOf, createHistory, createSigner, type Entry, exportOf, shown, type Thing, writeLog } from './forger.ts';
import { bundleIn, exportIn, post, unpacked, verdictOf } from './histories.ts';

const folder = useFolder();
const signer = createSigner();
const archives = useArchives(folder, signer);
const pinned = ['--key', signer.verifierKey];
const ahead = { recordedAt: '2046-11-20T12:00:00.000Z' };
const title = (title: string) => ({ set: { title } });

/** Events 3 and 4 are twenty years ahead, 5 corrects that; 6 and 7 are what the caller says. */
function history(last: { recordedAt?: string } = {}): Entry[] {
  const { entries, record } = createHistory();
  record('system/schema', 'schema.changed', { schema: { collections: [{ slug: 'posts', fields: [] }], globals: [] } });
  record(post, 'document.created', { id: post.slice(6), title: 'One' });
  record(post, 'document.updated', title('Two'), ahead);
  record('posts/2', 'document.created', { id: '2', title: 'Other' }, ahead);
  record('system/clock', 'clock.corrected', { from: 3, before: ahead.recordedAt });
  record(post, 'document.updated', title('Three'), last);
  record('posts/2', 'document.deleted', {});
  return entries;
}

const log = history();
const document = { id: post.slice(6), title: 'Three' };
let count = 0;

function bundleFrom(entries = log, changes: Thing = { corrections: [shown(entries[4] as Entry, entries)] }): string {
  count += 1;
  return bundleIn(folder, `bundle-${count}`, { ...bundleOf(entries, signer, post, document), ...changes });
}

function exportFrom(from: number, kind = 'ndjson', filters: Record<string, string> = {}, changes: Thing = {}): string {
  count += 1;
  const made = exportOf(log, signer, from, 7, { kind, filters });
  return exportIn(folder, `export-${count}`, { ...made, manifest: { ...made.manifest, ...changes } });
}

function logFrom(entries: readonly Entry[]): string {
  count += 1;
  const path = join(folder, `log-${count}.db`);
  writeLog(path, entries);
  return path;
}

const corrections = [shown(log[4] as Entry, log)];
const filters = { collection: 'posts' };
const goesBack = /^1 NOT SOUND: event \d .*was recorded at \S+, before the event that it follows/;

describe('annals-verify on a log whose clock was corrected', () => {
  it('finds it sound in every form, and says that times before the correction are not proven', async () => {
    const isComplete = bundleFrom(log, { corrections, ...bundleOf(log, signer, post, document, { isComplete: true }) });
    for (const path of [
      bundleFrom(),
      isComplete,
      exportFrom(1),
      exportFrom(4),
      exportFrom(6),
      exportFrom(1, 'csv'),
      exportFrom(1, 'ndjson', filters, { corrections }),
      exportFrom(1, 'csv', filters, { corrections }),
      exportFrom(1, 'cloudevents', { collection: 'system' }),
    ]) {
      const { exit, text } = await run([...pinned, path]);
      assert.equal(exit, 0, text);
      const isTold = /open +when events were recorded that stand before event 5, where the clock was\s+corrected/.test(
        text,
      );
      assert.equal(isTold, !path.endsWith('export-5'), text);
    }
    const { exit, text } = await run(['--trust-inside', logFrom(log)]);
    assert.deepEqual([exit, /before event 5, where the clock/.test(text)], [0, true], text);
  });

  it('says so if nothing that is shown comes after it', async () => {
    const { entries, record } = createHistory();
    record('system/schema', 'schema.changed', { schema: { collections: [], globals: [] } });
    record(post, 'document.created', document, ahead);
    record('system/clock', 'clock.corrected', { from: 2, before: ahead.recordedAt });
    record('posts/2', 'document.created', { id: '2' });
    const isTold = /open +when events were recorded that stand before event 3, where the clock was corrected/;
    const bundle = await archives.bundle(entries, post);
    const complete = bundleOf(entries, signer, post, document, { isComplete: true });
    const ranges = await Promise.all([
      archives.range(entries, 'ndjson', 1, 4, { filters: { stream: post } }),
      archives.range(entries, 'csv', 1, 4, { filters: { stream: post } }),
      archives.range(entries, 'ndjson', 1, 2),
      archives.range(entries, 'ndjson', 1, 2, { withPayloads: false }),
    ]);
    const quiet = await archives.range(entries, 'ndjson', 4, 4);
    for (const files of [bundle, ...ranges, { 'bundle.json': JSON.stringify(complete) }, quiet]) {
      count += 1;
      const { exit, text } = await run([...pinned, unpacked(folder, `shown-${count}`, files)]);
      assert.deepEqual([exit, isTold.test(text)], [0, files !== quiet], text);
    }
  });

  it('finds times that go back without one unsound', async () => {
    assert.match(await verdictOf(...pinned, bundleFrom(log, {})), goesBack);
    assert.match(await verdictOf(...pinned, exportFrom(1, 'ndjson', filters)), goesBack);
    assert.match(await verdictOf(...pinned, exportFrom(1, 'ndjson', filters, { corrections: [] })), goesBack);
  });

  it('finds times before the correction unsound if they come after it', async () => {
    const early = history({ recordedAt: '2026-11-20T12:00:04.999Z' });
    assert.match(await verdictOf(...pinned, bundleFrom(early)), goesBack);
    assert.match(await verdictOf('--trust-inside', logFrom(early)), goesBack);
  });

  it('takes nothing for a correction that is invalid, or not proven', async () => {
    const other = { corrections: [shown(log[3] as Entry, log)] };
    const isNone = /^1 NOT SOUND: event 4 .* is no correction of the clock/;
    assert.match(await verdictOf(...pinned, bundleFrom(log, other)), isNone);
    assert.match(await verdictOf(...pinned, exportFrom(1, 'ndjson', filters, other)), isNone);
    const foreign = { corrections: [shown(history()[4] as Entry, history())] };
    assert.match(
      await verdictOf(...pinned, bundleFrom(log, foreign)),
      /^1 NOT SOUND: event 5 .*does not show that it is in/,
    );
    assert.match(
      await verdictOf(...pinned, bundleFrom(log, { corrections: {} })),
      /^1 NOT SOUND: corrections is not a list/,
    );
  });
});
