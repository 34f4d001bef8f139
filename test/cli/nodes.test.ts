import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runHere } from '../helpers/in-process.ts';

it('annals nodes says that it needs a log in PostgreSQL', async () => {
  const { code, stderr } = await runHere(['nodes']);
  assert.equal(code, 2);
  assert.match(stderr, /^ANNALS_POSTGRES_URL is not set: only a log in PostgreSQL has nodes/);
  const named = await runHere(['nodes'], { environment: { ANNALS_NODE: 'a' } });
  assert.match(named.stderr, /^ANNALS_NODE is set, and ANNALS_POSTGRES_URL is not: it is for nodes/);
  const wrong = await runHere(['nodes'], {
    environment: { ANNALS_NODE: '-a b', ANNALS_POSTGRES_URL: 'postgres://a:b@c/d' },
  });
  assert.match(wrong.stderr, /^ANNALS_NODE must be 1 to 100 letters, digits/);
});
