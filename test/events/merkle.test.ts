import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  appendLeaf,
  emptyRoot,
  type HashSource,
  leafHash,
  nodeHash,
  rootOf,
  type Tree,
  treeAt,
} from '../../events/proof/merkle.ts';
import { anyText } from '../helpers/text.ts';

/**
 * The leaf inputs and roots published with Certificate Transparency (google/certificate-transparency, merkletree
 * tests).
 */
const publishedLeaves = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
];
const publishedRoots = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

function sha256(...parts: (Buffer | number[])[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(Buffer.from(part));
  return hash.digest();
}

/**
 * RFC 6962, section 2.1, word for word: MTH(D[n]) over the entries from `from` to `to`.
 *
 * @param known what it has been for large parts of these entries, for who asks about them again.
 */
function naiveRoot(
  entries: readonly Buffer[],
  from = 0,
  to = entries.length,
  known = new Map<string, Buffer>(),
): Buffer {
  const n = to - from;
  const part = n < 256 ? null : `${from}-${to}`;
  const found = part === null ? undefined : known.get(part);
  if (found) return found;
  if (n === 0) return sha256([]);
  if (n === 1) return sha256([0], entries[from] as Buffer);
  let k = 1;
  while (k * 2 < n) k *= 2;
  const root = sha256([1], naiveRoot(entries, from, from + k, known), naiveRoot(entries, from + k, to, known));
  if (part !== null) known.set(part, root);
  return root;
}

function ignore(): void {}

/** Grows a tree over entries and keeps every tile hash it is told of, as the log does. */
function grow(entries: readonly (Buffer | string)[]): { tree: Tree; source: HashSource; levels: Buffer[][] } {
  const tree: Tree = { size: 0, nodes: [] };
  const levels: Buffer[][] = [];
  for (const entry of entries) {
    appendLeaf(tree, leafHash(entry), (height, hash) => {
      if (height % 8 !== 0) return;
      levels[height / 8] ??= [];
      levels[height / 8]?.push(hash);
    });
  }
  return { tree, levels, source: (level, start, count) => (levels[level] ?? []).slice(start, start + count) };
}

describe('the Merkle tree (RFC 6962, section 2.1)', () => {
  it('gives the published root for each of the published leaves, and so does the naive implementation here', () => {
    const entries = publishedLeaves.map((hex) => Buffer.from(hex, 'hex'));
    const tree: Tree = { size: 0, nodes: [] };
    assert.equal(rootOf(tree).toString('hex'), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    assert.deepEqual(emptyRoot, naiveRoot([]));
    for (const [index, entry] of entries.entries()) {
      appendLeaf(tree, leafHash(entry), ignore);
      assert.equal(rootOf(tree).toString('hex'), publishedRoots[index], `size ${index + 1}`);
      assert.equal(naiveRoot(entries, 0, index + 1).toString('hex'), publishedRoots[index], `naive, size ${index + 1}`);
    }
  });

  it('hashes an entry given as text as its bytes in UTF-8', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        assert.deepEqual(leafHash(text), leafHash(Buffer.from(text, 'utf8')));
        assert.deepEqual(leafHash(text), sha256([0], Buffer.from(text, 'utf8')));
      }),
    );
  });

  it('does not keep a node in the buffer that the next one is hashed in', () => {
    const [a, b, c] = ['a', 'b', 'c'].map(leafHash) as [Buffer, Buffer, Buffer];
    const first = nodeHash(a, b);
    const kept = Buffer.from(first);
    nodeHash(b, c);
    assert.deepEqual(first, kept);
    assert.deepEqual(first, sha256([1], a, b));
  });

  it('grown leaf by leaf has the root of the naive tree at every size', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 200 }), (arrays) => {
        const entries = arrays.map((bytes) => Buffer.from(bytes));
        const tree: Tree = { size: 0, nodes: [] };
        for (const entry of entries) appendLeaf(tree, leafHash(entry), ignore);
        assert.equal(tree.size, entries.length);
        assert.deepEqual(rootOf(tree), naiveRoot(entries));
      }),
      { numRuns: 60 },
    );
  });

  it('tells every perfect subtree once, when its last leaf comes, and with the root of that subtree', () => {
    const entries = Array.from({ length: 300 }, (_, index) => Buffer.from(`entry ${index}`));
    const tree: Tree = { size: 0, nodes: [] };
    const counts: number[] = [];
    for (const [index, entry] of entries.entries()) {
      appendLeaf(tree, leafHash(entry), (height, hash) => {
        const width = 2 ** height;
        assert.equal((index + 1) % width, 0);
        assert.deepEqual(hash, naiveRoot(entries, index + 1 - width, index + 1));
        counts[height] = (counts[height] ?? 0) + 1;
      });
    }
    assert.deepEqual(counts, [300, 150, 75, 37, 18, 9, 4, 2, 1]);
  });

  it('can be taken back to any earlier size from its tile hashes, also at tile borders, and grows on', () => {
    const entries = Array.from({ length: 1030 }, (_, index) => Buffer.from(`entry ${index}`));
    const { source } = grow(entries);
    const sizes = [
      ...Array(40).keys(),
      127,
      128,
      129,
      254,
      255,
      256,
      257,
      258,
      511,
      512,
      513,
      767,
      768,
      1023,
      1024,
      1030,
    ];
    for (const size of sizes) {
      const tree = treeAt(size, source);
      assert.deepEqual(tree, grow(entries.slice(0, size)).tree, `size ${size}`);
      assert.deepEqual(rootOf(tree), naiveRoot(entries, 0, size), `size ${size}`);
      appendLeaf(tree, leafHash('one more'), ignore);
      assert.deepEqual(rootOf(tree), naiveRoot([...entries.slice(0, size), Buffer.from('one more')]), `${size} + 1`);
    }
  });

  it('goes over to a third level of tiles at 65,536 leaves', () => {
    const entries = Array.from({ length: 65_537 }, (_, index) => String(index));
    const { tree, source, levels } = grow(entries);
    assert.deepEqual(
      levels.map(({ length }) => length),
      [65_537, 256, 1],
    );
    const bytes = entries.map((entry) => Buffer.from(entry));
    const known = new Map<string, Buffer>();
    for (const size of [65_535, 65_536, 65_537]) {
      const asked: number[] = [];
      const found = treeAt(size, (level, start, count) => {
        asked.push(count);
        return source(level, start, count);
      });
      assert.deepEqual(rootOf(found), naiveRoot(bytes, 0, size, known));
      assert.ok(
        asked.every((count) => count <= 128),
        'no more than half a tile is read for one subtree',
      );
    }
    assert.deepEqual(treeAt(65_537, source), tree);
  });

  it('has another root when one leaf is changed, left out, added or exchanged with another', () => {
    const entries = Array.from({ length: 20 }, (_, index) => `entry ${index}`);
    const { tree } = grow(entries);
    const rootWith = (change: (list: string[]) => void): string => {
      const list = [...entries];
      change(list);
      return rootOf(grow(list).tree).toString('hex');
    };
    const roots = entries.flatMap((_, index) => [
      rootWith((list) => list.splice(index, 1, 'other')),
      rootWith((list) => list.splice(index, 1)),
      rootWith((list) => list.splice(index, 0, 'more')),
      rootWith((list) =>
        list.splice(index, 2, ...list.slice(index, index + 2).reverse(), ...(index === 19 ? ['x'] : [])),
      ),
    ]);
    assert.equal(new Set(roots).size, roots.length);
    assert.ok(!roots.includes(rootOf(tree).toString('hex')));
  });
});
