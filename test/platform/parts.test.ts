import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createParts } from '../../server/platform/parts.ts';

describe('A list of parts', () => {
  const closed: string[] = [];
  const noting = (name: string) => async () => {
    await null;
    closed.push(name);
  };

  it('closes them in the reverse order, once, and waits for each', async () => {
    closed.length = 0;
    const parts = createParts();
    assert.equal(parts.add('log', noting('log')), 'log');
    parts.add('mail', noting('mail'));
    await Promise.all([parts.close(), parts.close()]);
    assert.deepEqual(closed, ['mail', 'log']);
  });

  it('closes the others when one cannot be closed, and tells of it', async () => {
    closed.length = 0;
    const parts = createParts();
    const fail = () => Promise.reject(new Error('it is stuck'));
    parts.add('log', noting('log'));
    parts.add('mail', fail);
    await assert.rejects(parts.close(), { message: 'it is stuck' });
    assert.deepEqual(closed, ['log']);
    const several = createParts();
    several.add('log', fail);
    several.add('mail', fail);
    await assert.rejects(several.close(), AggregateError);
  });

  it('closes a part that was opened too late, and refuses it', async () => {
    closed.length = 0;
    const parts = createParts();
    parts.add('log', noting('log'));
    const closing = parts.close();
    assert.throws(() => parts.add('mail', noting('mail')), /opened while the others were closed/);
    await closing;
    assert.deepEqual(closed.toSorted(), ['log', 'mail']);
    assert.throws(() => parts.add('webhooks', noting('webhooks')), /opened while/);
    await parts.close();
    assert.equal(closed.at(-1), 'webhooks');
  });
});
