import { DomainError, isForNow } from '../../../config/errors.ts';
import type { TreeHead } from '../../../events/proof/proofs.ts';
import type { LogKey } from '../../../events/vault/key-replacement.ts';
import { messageOf } from '../../../storage/errors.ts';
import type { ChangedKey, KeyWay, Notary } from '../../ports.ts';
import type { LogServices } from './keys.ts';

type Parts = Pick<LogServices, 'keys' | 'now'> & {
  logId: string;
  /** The key that signs, what it has signed, and a head of the log that does not contradict that. */
  head: (way: KeyWay) => Promise<LogKey & { head: TreeHead }>;
  /** Resolves when the log has the event of the change. */
  told: () => Promise<unknown>;
};

/**
 * Of several nodes one changes the key at a time: the vault puts a new one in the place of the key that was looked at,
 * with what that had signed then, so no signature of it comes after the hand-over. Any node records the event, at the
 * latest before it signs.
 */
export function changeKeyWith({ keys, logId, now, head: look, told }: Parts): Notary['changeKey'] {
  async function replace(way: KeyWay, reason: string): Promise<ChangedKey> {
    for (;;) {
      const { signer, signed, head } = await look(way);
      const { size, root } = head;
      const handedOver = way === 'rotate' && { handedOver: { size, root, time: new Date(now()).toISOString() } };
      const expected = { id: signer.id, signed };
      const made = await keys.replace(logId, { reason, expected, ...handedOver }).catch(undecided);
      // Otherwise another node has signed or changed the key meanwhile.
      if (made !== null) return { from: signer.id, key: made };
    }
  }

  return async (way, reason) => {
    const changed = await replace(way, reason);
    try {
      await told();
    } catch (error) {
      throw unavailable(
        `the key ${changed.from} is replaced by ${changed.key}, and the log does not tell of it yet: a node records it ` +
          `before the new key signs (${messageOf(error)})`,
      );
    }
    return changed;
  };
}

function undecided(error: unknown): never {
  if (!isForNow(error)) throw error;
  throw unavailable(
    'PostgreSQL did not answer, and it is not known whether the key was changed: annals signing-key history tells',
  );
}

function unavailable(message: string): DomainError {
  return new DomainError('unavailable', message, [], 5);
}
