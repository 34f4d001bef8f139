import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { DomainError } from '../../../config/errors.ts';
import type { Draft, Room } from '../../../events/drafts.ts';
import type { VaultPort } from '../../../events/vault-port.ts';
import { isDiskFull } from '../../../storage/sqlite.ts';
import { oneByOne } from '../../platform/one-by-one.ts';
import type { KeptDraft, NewDraft } from '../../ports.ts';
import { previewSeconds } from './tokens.ts';

type Options = {
  drafts: VaultPort['drafts'];
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Called when those that have expired could not be deleted; it is tried again. */
  onFailure: (error: Error) => void;
  room?: Rooms;
};

type Rooms = { user: Room; key: Room; all: Room };

const mib = 1024 * 1024;
/** Behind a key there are many editors, who do not know of each other. */
const usual: Rooms = {
  user: { count: 100, bytes: 32 * mib },
  key: { count: 1000, bytes: 256 * mib },
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
  const timer = setInterval(purgeInBackground, purgeMilliseconds).unref();
  purgeInBackground();

  /** Gives the id under which the draft is found. @throws DomainError `unavailable` when there is no room for it. */
  async function keep({ isKey, ...draft }: NewDraft): Promise<string> {
    const id = randomUUID();
    await line.run(() => write({ ...draft, id, expiresAt: now() + lifetime }, isKey ? room.key : room.user));
    return id;
  }

  async function write(draft: Draft, own: Room): Promise<void> {
    let isKept: boolean;
    try {
      isKept = await drafts.keep(draft, own, room.all);
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
    forget: (collection: string, id: string): Promise<void> =>
      drafts.forget(collection, id, callerOf('user', `${collection}/${id}`)),
    purge,
    async close(): Promise<void> {
      isClosed = true;
      clearInterval(timer);
      await Promise.all([line.ended(), purging]);
    },
  };
}

/** The caller who keeps a draft, by the kind and the id of an actor. */
export function callerOf(type: string, id = ''): string {
  return `${type}:${id}`;
}

function unavailable(message: string, seconds = busySeconds): DomainError {
  return new DomainError('unavailable', `${message}; try again later`, [], seconds);
}
