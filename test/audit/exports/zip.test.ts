import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { zipOf } from '../../../server/audit/exports/zip.ts';
import { eventually } from '../../helpers/shared.ts';
import { unzip } from '../../helpers/unzip.ts';

const now = new Date('2026-11-22T05:00:00Z');
const chunk = randomBytes(64 * 1024);

/** Pieces without an end, and how many were asked for. */
function endless() {
  const seen = { pieces: 0, isOver: false };
  async function* content() {
    try {
      for (;;) {
        seen.pieces += 1;
        yield chunk;
      }
    } finally {
      seen.isOver = true;
    }
  }
  return { seen, content };
}

describe('A ZIP stream', () => {
  it('holds what its entries give, also what is known only once others were read', async () => {
    const later: string[] = [];
    function* entries() {
      yield { name: 'a.txt', content: 'Grüße' };
      yield {
        name: 'b.txt',
        content: async function* () {
          yield 'one';
          later.push('c.txt');
          yield Buffer.from(' two');
        },
      };
      for (const name of later) yield { name, content: chunk, isStored: true };
    }
    const files = unzip(await buffer(zipOf(entries(), now)));
    assert.deepEqual([...files.keys()], ['a.txt', 'b.txt', 'c.txt']);
    assert.deepEqual([String(files.get('a.txt')), String(files.get('b.txt'))], ['Grüße', 'one two']);
    assert.deepEqual(files.get('c.txt'), chunk);
  });

  it('asks for nothing that is not read, so that it holds a bounded amount', async () => {
    const { seen, content } = endless();
    const zip = zipOf([{ name: 'endless', content }], now);
    await once(zip, 'readable');
    let before = -1;
    for (; before !== seen.pieces; await wait(20)) before = seen.pieces;
    assert.ok(seen.pieces < 64, `${seen.pieces} pieces were asked for`);
    zip.destroy();
    await eventually(() => seen.isOver);
  });

  it('is broken off if an entry fails, and the entries after it are not begun', async () => {
    const { seen, content } = endless();
    async function* failing() {
      yield 'a';
      throw new Error('the disk is gone');
    }
    const entries = [
      { name: 'failing', content: failing },
      { name: 'endless', content },
    ];
    await assert.rejects(buffer(zipOf(entries, now)), /the disk is gone/);
    assert.equal(seen.pieces, 0);
  });
});
