import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { appendLeaf, leafHash, rootOf, type Tree } from '../../events/proof/merkle.ts';
import { contradiction } from '../../events/proof/seen-heads.ts';

/** The roots of a tree of such leaves, at each of its sizes. */
function rootsOf(leaves: readonly string[]): Buffer[] {
  const tree: Tree = { size: 0, nodes: [] };
  const roots = [rootOf(tree)];
  for (const leaf of leaves) {
    appendLeaf(tree, leafHash(leaf), () => {});
    roots.push(rootOf(tree));
  }
  return roots;
}

describe('A log that is not the one that was seen', () => {
  it('was altered first between the last of those that agree and the first of those that do not', () => {
    const lengths = fc.integer({ min: 1, max: 600 });
    const logs = lengths.chain((size) =>
      fc.record({
        size: fc.constant(size),
        altered: fc.integer({ min: 1, max: size }),
        seen: fc.uniqueArray(fc.integer({ min: 0, max: size }), { maxLength: 8 }),
      }),
    );
    fc.assert(
      fc.property(logs, ({ size, altered, seen }) => {
        const leaves = Array.from({ length: size }, (_, index) => `event ${index + 1}`);
        const were = rootsOf(leaves);
        const are = rootsOf(leaves.map((leaf, index) => (index + 1 === altered ? 'a lie' : leaf)));
        const heads = seen.map((at) => ({ size: at, root: were[at] as Buffer }));
        const log = { size, rootAt: (at: number) => are[at] as Buffer };
        const head = { name: 'somebody', size, root: were[size] as Buffer };
        const from = Math.max(0, ...seen.filter((at) => at < altered)) + 1;
        const to = Math.min(size, ...seen.filter((at) => at >= altered));
        const which =
          from === to ? `event ${from} is the first that was altered` : `first altered between ${from} and ${to}`;
        assert.equal(
          contradiction(log, head, () => heads),
          `the log was altered: at position ${size} it is not the log that somebody has seen; ${which}`,
        );
        assert.equal(contradiction({ size, rootAt: (at) => were[at] as Buffer }, head), null);
        assert.match(
          contradiction({ ...log, size: size - 1 }, head) ?? '',
          /^the log lost events: it ends at position/,
        );
      }),
      { numRuns: 50 },
    );
  });
});
