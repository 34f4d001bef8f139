import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { DomainError } from '../../../config/errors.ts';
import type { Category } from '../../../config/schema.ts';
import { documentStream } from '../../../events/facts/catalogue.ts';
import { type Draft, otherCallers, type Room } from '../../../events/vault/previews.ts';
import type { VaultPort } from '../../../events/vault/vault-port.ts';
import { isDiskFull } from '../../../storage/sqlite.ts';
import { oneByOne } from '../../platform/one-by-one.ts';
import { every } from '../../platform/ticks.ts';
import type { DraftCaller, KeptDraft, NewDraft } from '../../ports.ts';
import { previewSeconds } from './tokens.ts';

type Options = {
  drafts: VaultPort['drafts'];
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Called when those that have expired could not be deleted; it is tried again. */
  onFailure: (error: Error) => void;
  room?: Record<DraftCaller | 'others' | 'all', Room>;
};

const mib = 1024 * 1024;
/**
 * Behind a key there are many editors, who do not know of each other. The others take a tenth of all: sign-ups take no
 * more.
 */
const usual = {
  user: { count: 100, bytes: 32 * mib },
  key: { count: 1000, bytes: 256 * mib },
  other: { count: 100, bytes: 32 * mib },
  others: { count: 1000, bytes: Math.floor(102.4 * mib) },
  all: { count: 10_000, bytes: 1024 * mib },
};
const lifetime = previewSeconds * 1000;
const purgeMilliseconds = 30_000;
/** Between two steps of a purge, so that a long one does not hold up others. */
const restMilliseconds = 20;
/** How many may wait to be written. They come one by one, and what else the main thread has to do in between. */
const maxWaiting = 64;
const busySeconds = 5;

/** Keeps the drafts of previews in the vault, each for 15 minutes. */
export function keepDrafts({ drafts, now, onFailure, room = usual }: Options) {
  const line = oneByOne(maxWaiting, () => unavailable('too many drafts wait to be kept'));
  let purging: Promise<void> | null = null;
  let isClosed = false;
  const endPurging = every(purgeMilliseconds, purgeInBackground);
  purgeInBackground();

  /** Gives the id under which the draft is found. @throws DomainError `unavailable` when there is no room for it. */
  async function keep({ by, caller, ...draft }: NewDraft): Promise<string> {
    const id = randomUUID();
    await line.run(() => write({ ...draft, id, caller: nameOf(by, caller), expiresAt: now() + lifetime }, by));
    return id;
  }

  async function write(draft: Draft, by: DraftCaller): Promise<void> {
    const rooms = { own: room[by], all: room.all, others: by === 'other' ? room.others : null };
    let isKept: boolean;
    try {
      isKept = await drafts.keep(draft, rooms);
    } catch (error) {
      throw isDiskFull(error) ? unavailable('there is no room on the disk for a draft') : error;
    }
    if (!isKept) throw unavailable('there are too many drafts', 60);
  }

  /** Deletes all that have expired, from the disk too. */
  function purge(): Promise<void> {
    purging ??= purgeAll().finally(() => {
      purging = null;
    });
    return purging;
  }

  async function purgeAll(): Promise<void> {
    while (!isClosed && (await drafts.purge(now(), lifetime))) await wait(restMilliseconds, undefined, { ref: false });
    if (!isClosed) await drafts.leaveNoTrace();
  }

  function purgeInBackground(): void {
    purge().catch((error) => {
      if (!isClosed) onFailure(error);
    });
  }

  return {
    keep,
    /** The draft of an id; null if it does not exist, or no longer. */
    read: (id: string): Promise<KeptDraft | null> => drafts.get(id, now()),
    drop: (id: string): Promise<void> => drafts.delete(id),
    /** Deletes those about a document, and those that it keeps itself, where it is a user. */
    forget: (category: Category, id: string): Promise<void> =>
      drafts.forget(
        category,
        id,
        (['user', 'other'] as const).map((by) => nameOf(by, documentStream(category, id))),
      ),
    purge,
    async close(): Promise<void> {
      isClosed = true;
      endPurging();
      await Promise.all([line.ended(), purging]);
    },
  };
}

function nameOf(by: DraftCaller, caller: string): string {
  return `${by === 'other' ? otherCallers : `${by}:`}${caller}`;
}

function unavailable(message: string, seconds = busySeconds): DomainError {
  return new DomainError('unavailable', `${message}; try again later`, [], seconds);
}
