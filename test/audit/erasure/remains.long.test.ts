import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createRandom } from '../../../bench/content.ts';
import type { Config } from '../../../config/define.ts';
import { openScrubber } from '../../../projections/tables/scrub.ts';
import { findingIn, openDirectory, quickFolder } from '../../projections/directory.ts';

const config: Config = {
  collections: [
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text', unique: true, index: true },
        { name: 'body', type: 'textarea' },
      ],
    },
  ],
};

const documents = 3000;
const erased = 1500;

/**
 * The mark of a document. Each number has four digits: in the free room of a page the rest of a row that is kept may be
 * cut off by another row. The first byte of that row is its length; at 120 it reads `x`, and 1402 would be taken for
 * 140.
 */
const markOf = (number: number) => `Potoroo-${String(number).padStart(4, '0')}x`;

/** The numbers of all marks that stand in any file of a folder, and of all ends of titles. */
function foundIn(folder: string): { marks: Set<number>; ends: Set<number> } {
  const [marks, ends] = [new Set<number>(), new Set<number>()];
  for (const name of readdirSync(folder)) {
    const text = readFileSync(join(folder, name)).toString('latin1').toLowerCase();
    for (const [, number] of text.matchAll(/potoroo-(\d{4})x/g)) marks.add(Number(number));
    for (const [, number] of text.matchAll(/ (\d{12})/g)) ends.add(Number(number));
  }
  return { marks, ends };
}

describe('erasures of very many documents', () => {
  it('leave nothing of any after many updates and deletions, while others are written between the steps', (t) => {
    const folder = quickFolder();
    const directory = openDirectory(folder, config);
    t.after(() => {
      directory.close();
      rmSync(folder, { recursive: true });
    });
    const { log } = directory;
    const random = createRandom(Number(process.env.TEST_SEED ?? 7));
    const upTo = (most: number) => Math.floor(random() * most);
    /**
     * The ends of all titles that a document ever had: of a title that is cut off the beginning may be gone, and the
     * end not.
     */
    const ends = Array.from({ length: documents }, (): number[] => []);
    const endOf = (number: number) => {
      const end = upTo(1e12);
      ends[number]?.push(end);
      return String(end).padStart(12, '0');
    };
    const values = (number: number) => ({
      title: `${markOf(number)} ${'t'.repeat(upTo(80))} ${endOf(number)}`,
      body: `${markOf(number)} `.repeat(1 + upTo(upTo(10) === 0 ? 3000 : 60)),
    });
    const ids: string[] = [];
    for (let number = 0; number < documents; number += 1) ids.push(directory.create('posts', values(number)));
    // Rows of all sizes move between pages.
    for (let count = 0; count < 2 * documents; count += 1) {
      const number = upTo(documents);
      directory.update('posts', ids[number] as string, values(number));
    }
    const removed = new Set<number>();
    for (let number = 0; number < documents; number += 5) {
      directory.remove('posts', ids[number] as string);
      removed.add(number);
    }
    const before = foundIn(folder);
    assert.equal(before.marks.size, documents);
    assert.deepEqual(
      ends.flat().filter((end) => !before.ends.has(end)),
      [],
    );
    const gone = new Set<number>();
    while (gone.size < erased) gone.add(upTo(documents));
    for (const number of gone) {
      const stream = `posts/${ids[number]}`;
      const versions = log.versionOf(stream);
      const events = [{ type: 'document.erased' as const, data: { streams: [{ stream, versions }] } }];
      directory.record({ stream, expectedVersion: versions, events, claims: [], releases: [] }, { erases: [stream] });
    }
    const scrubber = openScrubber({ directory: folder, ...directory });
    scrubber.begin([]);
    const kept = ids.map((_, number) => number).filter((number) => !gone.has(number) && !removed.has(number));
    for (;;) {
      const step = scrubber.step(false);
      if (step !== 'going') {
        assert.deepEqual(step, { isClean: true });
        break;
      }
      for (let count = 0; count < 20; count += 1) {
        const number = kept[upTo(kept.length)] as number;
        directory.update('posts', ids[number] as string, values(number));
      }
    }
    const left = foundIn(folder);
    assert.deepEqual(
      [...gone].filter((number) => left.marks.has(number)),
      [],
    );
    assert.deepEqual(
      [...gone].flatMap((number) => ends[number] ?? []).filter((end) => left.ends.has(end)),
      [],
    );
    assert.equal(left.marks.size, documents - erased);
    assert.equal(findingIn(folder), null);
  });
});
