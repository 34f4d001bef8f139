import { setTimeout as wait } from 'node:timers/promises';
import type { Kept, NewOwnDraft, OwnDraft, OwnRoom, Removed } from '../../../events/vault/unsaved-changes.ts';
import type { VaultPort } from '../../../events/vault/vault-port.ts';
import { every } from '../../platform/ticks.ts';

const day = 24 * 60 * 60 * 1000;
/** How long a draft is kept, in days. */
export const draftDays = 30;
const mib = 1024 * 1024;
/**
 * The room of each user, of all who are not of the admin collection, and of all: sign-ups take none from those who
 * edit.
 */
export const ownRoom: OwnRoom = {
  user: { count: 100, bytes: 20 * mib },
  others: { count: 1000, bytes: Math.floor(102.4 * mib) },
  all: { count: 10_000, bytes: 1024 * mib },
  lifetime: draftDays * day,
};

const purgeMilliseconds = 30_000;
/** Between two steps of a purge, so that a long one does not hold up others. */
const restMilliseconds = 20;

type Options = {
  drafts: VaultPort['ownDrafts'];
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Called when those that have expired could not be deleted; it is tried again. */
  onFailure: (error: Error) => void;
  room?: OwnRoom;
};

/** Keeps drafts of users in the vault. */
export function keepOwnDrafts({ drafts, now, onFailure, room = ownRoom }: Options) {
  let isClosed = false;
  let purging: Promise<void> | null = null;
  const since = () => now() - room.lifetime;
  const endPurging = every(purgeMilliseconds, purgeInBackground);
  purgeInBackground();

  function purgeInBackground(): void {
    purge().catch((error) => {
      if (!isClosed) onFailure(error);
    });
  }

  /** Deletes all that have expired, from the disk too. */
  function purge(): Promise<void> {
    purging ??= purgeAll().finally(() => {
      purging = null;
    });
    return purging;
  }

  async function purgeAll(): Promise<void> {
    while (!isClosed && (await drafts.purge(since(), now()))) await wait(restMilliseconds, undefined, { ref: false });
    if (!isClosed) await drafts.leaveNoTrace();
  }

  return {
    keep: (draft: NewOwnDraft): Promise<Kept> => drafts.keep(draft, room, now()),
    read: (owner: string, target: string): Promise<(OwnDraft & { data: string }) | null> =>
      drafts.get(owner, target, since()),
    list: (owner: string): Promise<OwnDraft[]> => drafts.all(owner, since()),
    remove: (owner: string, target: string, expected: NewOwnDraft['expected']): Promise<Removed> =>
      drafts.remove(owner, target, { expected, since: since() }),
    forget: drafts.forget,
    purge,
    async close(): Promise<void> {
      isClosed = true;
      endPurging();
      await purging?.catch(() => {});
    },
  };
}
