import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { CoMETRE } from '@transmute/rfc9162';
import fc from 'fast-check';
import {
  appendLeaf,
  type HashSource,
  leafHash,
  nodeHash,
  rangeRoot,
  rootOf,
  type Tree,
  treeAt,
} from '../../events/proof/merkle.ts';
import { consistencyProof, inclusionProof, inclusionProver } from '../../events/proof/proofs.ts';
import { verifyConsistency, verifyInclusion } from '../helpers/proofs.ts';

const { RFC9162_SHA256: independent } = CoMETRE;

function sha256(...parts: (Buffer | number[])[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(Buffer.from(part));
  return hash.digest();
}

/** RFC 6962, section 2.1, word for word, over leaf hashes: MTH, PATH, SUBPROOF. */
function mth(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha256([]);
  if (leaves.length === 1) return leaves[0] as Buffer;
  const k = split(leaves.length);
  return sha256([1], mth(leaves.slice(0, k)), mth(leaves.slice(k)));
}
function path(m: number, leaves: readonly Buffer[]): Buffer[] {
  if (leaves.length === 1) return [];
  const k = split(leaves.length);
  if (m < k) return [...path(m, leaves.slice(0, k)), mth(leaves.slice(k))];
  return [...path(m - k, leaves.slice(k)), mth(leaves.slice(0, k))];
}
function subproof(m: number, leaves: readonly Buffer[], b: boolean): Buffer[] {
  if (m === leaves.length) return b ? [] : [mth(leaves)];
  const k = split(leaves.length);
  if (m <= k) return [...subproof(m, leaves.slice(0, k), b), mth(leaves.slice(k))];
  return [...subproof(m - k, leaves.slice(k), false), mth(leaves.slice(0, k))];
}
function split(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

type Grown = { leaves: Buffer[]; source: HashSource; rootAt: (size: number) => Buffer };

/** A tree with the hashes that the log's tiles hold of it, and nothing more. */
function grow(entries: readonly (string | Buffer)[]): Grown {
  const tree: Tree = { size: 0, nodes: [] };
  const levels: Buffer[][] = [[]];
  for (const entry of entries) {
    appendLeaf(tree, leafHash(entry), (height, hash) => {
      if (height % 8 !== 0) return;
      levels[height / 8] ??= [];
      levels[height / 8]?.push(hash);
    });
  }
  const source: HashSource = (level, start, count) => {
    const found = (levels[level] ?? []).slice(start, start + count);
    assert.equal(found.length, count, `hashes ${start} to ${start + count} of level ${level}`);
    assert.equal(Math.floor(start / 256), Math.floor((start + count - 1) / 256), 'all of one tile');
    return found;
  };
  return { leaves: levels[0] as Buffer[], source, rootAt: (size) => rootOf(treeAt(size, source)) };
}

const large = grow(Array.from({ length: 1030 }, (_, index) => `entry ${index}`));
const sizes = fc.oneof(
  fc.integer({ min: 1, max: 1030 }),
  fc.constantFrom(1, 2, 128, 255, 256, 257, 511, 512, 513, 1024, 1030),
);

/**
 * Published with Certificate Transparency, now testonly/constants.go and reference_test.go of transparency-dev/merkle.
 */
const published = {
  entries: ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'],
  inclusion: [
    { index: 0, size: 1, proof: [] },
    {
      index: 0,
      size: 8,
      proof: [
        '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
        '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
        '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
      ],
    },
    {
      index: 5,
      size: 8,
      proof: [
        'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
        'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
        'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
      ],
    },
    { index: 2, size: 3, proof: ['fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125'] },
    {
      index: 1,
      size: 5,
      proof: [
        '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
        '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
        'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      ],
    },
  ],
  consistency: [
    { first: 1, second: 1, proof: [] },
    {
      first: 1,
      second: 8,
      proof: [
        '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
        '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
        '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
      ],
    },
    {
      first: 6,
      second: 8,
      proof: [
        '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
        'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
        'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
      ],
    },
    {
      first: 2,
      second: 5,
      proof: [
        '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
        'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      ],
    },
  ],
};

/** Each way in which a list of hashes is spoilt a little. */
function spoilt(proof: readonly Buffer[]): Buffer[][] {
  const flip = (hash: Buffer) => Buffer.from(hash.map((byte, index) => (index === 7 ? byte ^ 1 : byte)));
  return [
    [...proof, sha256([9])],
    [sha256([9]), ...proof],
    ...proof.map((_, at) => proof.with(at, flip(proof[at] as Buffer))),
    ...proof.map((_, at) => proof.toSpliced(at, 1)),
    ...proof.map((hash, at) => proof.with(at, hash.subarray(0, 31))),
    ...(proof.length > 1 ? [proof.toReversed()] : []),
  ];
}

describe('proofs of inclusion (RFC 6962, section 2.1.1)', () => {
  it('are the published ones', () => {
    const { source, leaves, rootAt } = grow(published.entries.map((hex) => Buffer.from(hex, 'hex')));
    for (const { index, size, proof } of published.inclusion) {
      const made = inclusionProof(index, size, source);
      assert.deepEqual(
        made.map((hash) => hash.toString('hex')),
        proof,
      );
      assert.ok(verifyInclusion({ index, size }, leaves[index] as Buffer, made, rootAt(size)));
    }
  });

  it('are those of the definition for every leaf, and hold, in trees across the borders of tiles', () => {
    fc.assert(
      fc.property(sizes, fc.nat(), (size, random) => {
        const index = random % size;
        const proof = inclusionProof(index, size, large.source);
        assert.deepEqual(proof, path(index, large.leaves.slice(0, size)));
        assert.ok(verifyInclusion({ index, size }, large.leaves[index] as Buffer, proof, large.rootAt(size)));
      }),
      { numRuns: 60 },
    );
  });

  it('are the same if many are made at once', () => {
    for (const size of [1, 2, 255, 256, 600]) {
      const prove = inclusionProver(size, large.source);
      for (let index = 0; index < size; index += 1) {
        assert.deepEqual(prove(index), inclusionProof(index, size, large.source));
      }
      assert.throws(() => prove(size), RangeError);
    }
  });

  it('are made and accepted by an independent implementation', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 40 }), fc.nat(), async (size, random) => {
        const index = random % size;
        const leaves = large.leaves.slice(0, size);
        const theirs = await independent.inclusion_proof(index, leaves);
        const proof = theirs.inclusion_path.map((hash) => Buffer.from(hash));
        assert.deepEqual(inclusionProof(index, size, large.source), proof);
        const root = await independent.verify_inclusion_proof(leaves[index] as Buffer, theirs);
        assert.deepEqual(Buffer.from(root), large.rootAt(size));
      }),
      { numRuns: 25 },
    );
  });

  it('fail for another leaf, place, size or root, and spoilt in any way', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 300 }), fc.nat(), (size, random) => {
        const index = random % size;
        const leaf = large.leaves[index] as Buffer;
        const root = large.rootAt(size);
        const proof = inclusionProof(index, size, large.source);
        const isWrong = (at: { index: number; size: number }, ...rest: [Buffer, Buffer[], Buffer]) =>
          assert.equal(verifyInclusion(at, ...rest), false);
        isWrong({ index, size }, large.leaves[(index + 1) % size] as Buffer, proof, root);
        isWrong({ index: (index + 1) % size, size }, leaf, proof, root);
        isWrong({ index, size: size * 2 + 1 }, leaf, proof, root);
        isWrong({ index, size }, leaf, proof, large.rootAt(size - 1));
        for (const bad of spoilt(proof)) isWrong({ index, size }, leaf, bad, root);
        for (const at of [-1, 0.5, Number.NaN, size]) isWrong({ index: at, size }, leaf, proof, root);
      }),
      { numRuns: 40 },
    );
  });

  it('are refused for what is not in the tree', () => {
    for (const [index, size] of [
      [3, 3],
      [-1, 3],
      [0, 0],
      [0.5, 3],
    ] as const) {
      assert.throws(() => inclusionProof(index, size, large.source), RangeError);
    }
  });
});

describe('proofs of consistency (RFC 6962, section 2.1.2)', () => {
  const headAt = (size: number) => ({ size, root: large.rootAt(size) });

  it('are the published ones', () => {
    const { source, rootAt } = grow(published.entries.map((hex) => Buffer.from(hex, 'hex')));
    for (const { first, second, proof } of published.consistency) {
      const made = consistencyProof(first, second, source);
      assert.deepEqual(
        made.map((hash) => hash.toString('hex')),
        proof,
      );
      const heads = [first, second].map((size) => ({ size, root: rootAt(size) }));
      assert.ok(verifyConsistency(...(heads as [never, never]), made));
    }
  });

  it('are those of the definition for every two sizes, and hold, in trees across the borders of tiles', () => {
    fc.assert(
      fc.property(sizes, sizes, (one, other) => {
        const [first, second] = [Math.min(one, other), Math.max(one, other)];
        const proof = consistencyProof(first, second, large.source);
        assert.deepEqual(proof, subproof(first, large.leaves.slice(0, second), true));
        assert.ok(verifyConsistency(headAt(first), headAt(second), proof));
      }),
      { numRuns: 60 },
    );
  });

  it('are made and accepted by an independent implementation, which also sends the root that is known', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 39 }), fc.integer({ min: 1, max: 20 }), async (first, more) => {
        const second = first + more;
        const leaves = large.leaves.slice(0, second);
        const before = await independent.inclusion_proof(0, leaves.slice(0, first));
        const theirs = await independent.consistency_proof(before, leaves);
        const ours = consistencyProof(first, second, large.source);
        const isPerfect = Number.isInteger(Math.log2(first));
        const path = isPerfect ? [large.rootAt(first), ...ours] : ours;
        assert.deepEqual(
          theirs.consistency_path.map((hash) => Buffer.from(hash)),
          path,
        );
        const proof = { ...theirs, consistency_path: path };
        assert.ok(await independent.verify_consistency_proof(large.rootAt(first), large.rootAt(second), proof));
      }),
      { numRuns: 25 },
    );
  });

  it('fail for other sizes or roots, and spoilt in any way', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 299 }), fc.integer({ min: 1, max: 300 }), (first, more) => {
        const second = first + more;
        const proof = consistencyProof(first, second, large.source);
        const isWrong = (...given: Parameters<typeof verifyConsistency>) =>
          assert.equal(verifyConsistency(...given), false);
        isWrong(headAt(second), headAt(first), proof);
        isWrong({ size: first, root: large.rootAt(first + 1) }, headAt(second), proof);
        isWrong(headAt(first), { size: second, root: large.rootAt(second - 1) }, proof);
        isWrong({ size: first, root: large.rootAt(second) }, headAt(second), proof);
        for (const bad of spoilt(proof)) isWrong(headAt(first), headAt(second), bad);
        isWrong(headAt(first), headAt(second), []);
      }),
      { numRuns: 40 },
    );
  });

  it('say nothing if there is nothing to prove, and then the roots alone decide', () => {
    assert.deepEqual(consistencyProof(0, 7, large.source), []);
    assert.ok(verifyConsistency(headAt(0), headAt(7), []));
    assert.equal(verifyConsistency({ size: 0, root: large.rootAt(1) }, headAt(7), []), false);
    assert.equal(verifyConsistency({ size: 7, root: large.rootAt(6) }, headAt(7), []), false);
    assert.equal(verifyConsistency(headAt(7), headAt(7), [large.rootAt(7)]), false);
    assert.throws(() => consistencyProof(8, 7, large.source), RangeError);
  });

  it('count beyond 32 bits', () => {
    const wide = 2 ** 40;
    const node = sha256([1]);
    // The same leaf everywhere: all subtrees of one height are equal.
    const equal = [node];
    for (let height = 0; height < 48; height += 1)
      equal.push(nodeHash(equal[height] as Buffer, equal[height] as Buffer));
    const source: HashSource = (level, _, count) => Array.from({ length: count }, () => equal[level * 8] as Buffer);
    const first = { size: wide - 3, root: rangeRoot(0, wide - 3, source) };
    const second = { size: wide + 5, root: rangeRoot(0, wide + 5, source) };
    assert.ok(verifyConsistency(first, second, consistencyProof(first.size, second.size, source)));
    const place = { index: wide + 2, size: wide + 5 };
    assert.ok(verifyInclusion(place, node, inclusionProof(place.index, place.size, source), second.root));
  });
});
