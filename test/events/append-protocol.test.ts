import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { type End, isState, type State, transitions } from '../../events/replica/append-protocol.ts';

const cells = Object.entries(transitions).flatMap(([state, row]) =>
  Object.entries(row).map(([event, next]) => ({ state, event, next: next as State | End })),
);

/** All states that can follow, along the cells that are allowed. */
function after(states: readonly string[], isAllowed: (cell: (typeof cells)[number]) => boolean): Set<string> {
  const reached = new Set(states);
  for (const state of reached) {
    for (const cell of cells) if (cell.state === state && isAllowed(cell)) reached.add(cell.next);
  }
  return reached;
}

const isLook = ({ state, event }: (typeof cells)[number]) =>
  state === 'suspect' && (event === 'catchesUp' || event === 'findsIt');

describe('The protocol of an append to a shared log', () => {
  it('is the table of events/replica/README.md', () => {
    const page = readFileSync(new URL('../../events/replica/README.md', import.meta.url), 'utf8');
    const told = [...page.matchAll(/^\| `(\w+)` \| `(\w+)` \| `(\w+)` \| \S/gm)];
    assert.deepEqual(
      told.map(([, state, event, next]) => ({ state, event, next })),
      cells,
    );
    const named = [...page.matchAll(/^\| `(\w+)` \| [^`]/gm)].map(([, name]) => name);
    assert.deepEqual(named, [...Object.keys(transitions), 'settled', 'failed', 'unknown']);
  });

  it('reaches every state from the first, and an end from each', () => {
    assert.deepEqual(
      [...after(['free'], () => true)].filter((name) => name in transitions).sort(),
      Object.keys(transitions).sort(),
    );
    for (const state of Object.keys(transitions)) assert.ok(after([state], () => true).has('settled'), state);
  });

  it('neither ships again nor says that nothing was appended before it has looked for a doubted shipment', () => {
    assert.deepEqual([...after(['doubted'], (cell) => !isLook(cell))].sort(), ['doubted', 'suspect', 'unknown']);
  });

  it('never says that nothing was appended when something was', () => {
    for (const state of ['doubted', 'suspect', 'shipped', 'visible'])
      assert.equal(cells.find((cell) => cell.state === state && cell.event === 'fails')?.next, 'unknown', state);
  });

  it('gives a result only when it is durable', () => {
    const settling = cells.filter(({ next }) => next === 'settled').map(({ state, event }) => `${state} ${event}`);
    assert.deepEqual(settling, ['level hasNothing', 'committed applies', 'visible confirms']);
  });

  it('goes on from states alone', () => {
    assert.ok(isState({ state: 'free', known: {} }));
    assert.ok(!isState({ state: 'failed', known: { error: null } }));
  });
});
