import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Schema } from '../../config/schema.ts';
import { schemaStream } from '../../events/facts/catalogue.ts';
import { OutdatedError } from '../../events/replica/outdated.ts';
import type { SharedLog } from '../../events/replica/shared-log.ts';
import { agreementIn, createState, setState, stateIn } from '../../server/platform/state.ts';
import { openAgreement } from '../../server/writer/schema-agreement.ts';

const schema = { collections: [{ slug: 'posts' }, { slug: 'users', auth: {} }], globals: [] } as unknown as Schema;
const error = new OutdatedError('event 8 has applied another configuration');

/** A node whose log goes on with events of these streams. */
function open(streams: readonly string[], isPending = false) {
  const state = createState();
  setState(state, 'ready');
  const warnings: string[] = [];
  const tail: SharedLog['tail'] = async ({ size }) => {
    const events = streams.slice(size - 7).map((stream, at) => {
      return { position: size + at + 1, id: '', stream, version: 1, header: '', body: null };
    });
    return { from: size, head: null, events, claims: [], idempotencyRecords: [], erasures: [] };
  };
  const declared = { schema, rules: {} } as unknown as Parameters<typeof openAgreement>[0]['declared'];
  const agreement = openAgreement({
    state,
    shared: { tail },
    declared,
    isPending,
    warn: (message) => warnings.push(message),
  });
  return { agreement, state, warnings };
}

describe('The agreement of a node with the configuration of the log', () => {
  it('ends with another configuration: no writes from there on, and reads for a minute', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { agreement, state, warnings } = open([]);
    assert.deepEqual([agreement.mayWrite(), stateIn(state)], [true, 'ready']);
    agreement.end(error, 7);
    agreement.end(error, 7);
    assert.deepEqual([agreement.mayWrite(), stateIn(state), agreementIn(state)], [false, 'outdated', 'outdated']);
    assert.equal(warnings.length, 1);
    t.mock.timers.tick(59_999);
    assert.equal(agreementIn(state), 'outdated');
    t.mock.timers.tick(1);
    assert.deepEqual([stateIn(state), agreementIn(state)], ['outdated', 'expired']);
  });

  it('is stale once others have written of anything but documents and globals', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const content = [schemaStream, 'posts/1', 'globals/site'];
    for (const stream of ['users/1', 'accounts/users/1', 'system/api-keys', 'unknown/1']) {
      const { agreement, state } = open([...content, stream]);
      agreement.end(error, 7);
      assert.equal(await agreement.scan(10), 4);
      assert.deepEqual([agreementIn(state), agreement.scanned()], ['accounts-changed', 11], stream);
      agreement.close();
    }
    const { agreement, state } = open(content);
    agreement.end(error, 7);
    await agreement.scan(10);
    assert.equal(agreementIn(state), 'outdated');
    t.mock.timers.tick(60_000);
    await agreement.scan(10);
    assert.equal(agreementIn(state), 'expired');
  });

  it('of a node that waits begins when its configuration is applied, and cannot end before', () => {
    const { agreement, state } = open([], true);
    assert.deepEqual([agreement.mayWrite(), stateIn(state)], [false, 'waiting']);
    assert.throws(() => agreement.end(error, 7), /is to be started again: event 8 has applied another configuration/);
    agreement.settle();
    assert.deepEqual([agreement.mayWrite(), stateIn(state)], [true, 'ready']);
  });
});
