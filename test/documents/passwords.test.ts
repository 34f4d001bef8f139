import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import { UnknownOutcomeError, UnreadError } from '../../events/facts/log.ts';
import type { App } from '../../server/app.ts';
import { withPassword } from '../../server/documents/write/passwords.ts';

/** Runs a write that ends like this, and gives the credentials that were kept and not forgotten. */
async function left(end: () => unknown): Promise<string[]> {
  const kept = new Set<string>();
  const passwords = {
    async storePassword(password: string) {
      kept.add(password);
      return password;
    },
    async forgetPassword(credential: string) {
      kept.delete(credential);
    },
  };
  const request = { app: { ip: '192.0.2.1' } } as unknown as Request;
  const write = withPassword({ app: { passwords } as unknown as App, request }, 'a password', async (keep) => {
    assert.equal(await keep(), await keep());
    return end();
  });
  await write.catch(() => {});
  return [...kept];
}

describe('a password that is kept before it is recorded', () => {
  const failing = (error: Error) => () => {
    throw error;
  };

  it('stays when it is recorded, and goes when the write is refused', async () => {
    assert.deepEqual(await left(() => 'recorded'), ['a password']);
    // `unavailable` means too busy, or no room: nothing was recorded.
    for (const code of [
      'validation_failed',
      'unauthorized',
      'forbidden',
      'not_found',
      'conflict',
      'unavailable',
    ] as const)
      assert.deepEqual(await left(failing(new DomainError(code, 'no'))), [], code);
  });

  it('stays when its outcome is unknown, so that no account loses its password', async () => {
    const errors = [new UnknownOutcomeError('the writer thread ended'), new UnreadError('not_shown_yet', 'not shown')];
    for (const error of errors) assert.deepEqual(await left(failing(error)), ['a password'], error.message);
  });
});
