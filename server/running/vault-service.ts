import type { MessagePort } from 'node:worker_threads';
import { DomainError } from '../../config/errors.ts';
import type { Category } from '../../config/schema.ts';
import { documentStream } from '../../events/facts/catalogue.ts';
import type { VaultPort } from '../../events/vault/vault-port.ts';
import { refusedOnFullDisk } from '../accounts/full-disk.ts';
import { keepPreferences } from '../accounts/preferences.ts';
import type { App } from '../app.ts';
import { keepReplays } from '../documents/concurrency/replay-keeping.ts';
import { keepPreviewTokens } from '../documents/outlook/keeping.ts';
import { keepPreviews } from '../documents/preview/keeping.ts';
import { keepUnsavedChanges } from '../documents/unsaved-changes/keeping.ts';
import { callsThrough } from '../platform/calls.ts';
import { oneByOne } from '../platform/one-by-one.ts';
import type { PasswordService } from '../ports.ts';
import { portTo } from './threads/message-ports.ts';

/** The ports to the vault, one for each subject. The main thread serves them for all threads. */
export type VaultService = Pick<
  App,
  'passwords' | 'preferences' | 'unsavedChanges' | 'previews' | 'previewTokens' | 'replays'
>;

/** The same between two threads. */
export type VaultChannels = { [Name in keyof VaultService]: MessagePort };

/** The vault service, and the functions that only the main thread calls. */
export type MainVaultService = {
  vault: VaultService;
  /**
   * Deletes the previews of a document, the unsaved changes to it, and answers that show something of it. If it is a
   * user, those of the user go too, with their preferences.
   */
  forgetKept: (category: Category, id: string) => Promise<void>;
  /** Ends its work; what waits is done before. The passwords are closed by their owner. */
  close: () => Promise<void>;
};

type Options = {
  vault: VaultPort;
  passwords: PasswordService;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Called when expired previews or changes could not be deleted; the deletion is tried again. */
  onPurgeFailure: (error: Error) => void;
};

/** How many changes may wait to be kept: a large one takes the main thread some 10 ms. */
const maxWaiting = 64;
const busySeconds = 5;

/** Opens the vault service in the main thread, one for each engine. */
export function openVaultService({ vault, passwords, now, onPurgeFailure: onFailure }: Options): MainVaultService {
  const queue = oneByOne(maxWaiting, tooMany);
  const queued = <T>(work: () => Promise<T>) => refusedOnFullDisk(queue.run(work));
  const preferences = keepPreferences(vault.preferences);
  const changes = keepUnsavedChanges({ changes: vault.unsavedChanges, now, onFailure });
  const previews = keepPreviews({ previews: vault.previews, now, onFailure });
  const previewTokens = keepPreviewTokens({ tokens: vault.previewTokens, now });
  const replays = keepReplays({ replays: vault.replays, now, onFailure });
  return {
    vault: {
      passwords,
      preferences: {
        ...preferences,
        change: (user, patch, expected) => queued(() => preferences.change(user, patch, expected)),
      },
      unsavedChanges: {
        keep: (change) => queued(() => changes.keep(change)),
        read: changes.read,
        list: changes.list,
        remove: (owner, target, expected) => queued(() => changes.remove(owner, target, expected)),
        forget: changes.forget,
      },
      previews: { keep: previews.keep, read: previews.read, drop: previews.drop },
      previewTokens: {
        add: (token) => refusedOnFullDisk(previewTokens.add(token)),
        find: previewTokens.find,
        all: previewTokens.all,
        drop: previewTokens.drop,
      },
      replays: {
        reserve: (replay) => refusedOnFullDisk(replays.reserve(replay)),
        keep: replays.keep,
        drop: replays.drop,
      },
    },
    async forgetKept(category, id) {
      await previews.forget(category, id);
      await replays.forget(category, id);
      await changes.forget(documentStream(category, id));
      await preferences.forget(documentStream(category, id));
      await previewTokens.forget(documentStream(category, id));
    },
    async close() {
      await Promise.all([queue.ended(), previews.close(), replays.close(), changes.close()]);
    },
  };
}

/** Makes the channels by which another thread calls the vault service of this one. */
export function channelsTo({
  passwords,
  preferences,
  unsavedChanges,
  previews,
  previewTokens,
  replays,
}: VaultService): VaultChannels {
  return {
    passwords: portTo<VaultService['passwords']>(passwords),
    preferences: portTo<VaultService['preferences']>(preferences),
    unsavedChanges: portTo<VaultService['unsavedChanges']>(unsavedChanges),
    previews: portTo<VaultService['previews']>(previews),
    previewTokens: portTo<VaultService['previewTokens']>(previewTokens),
    replays: portTo<VaultService['replays']>(replays),
  };
}

/** The vault service at the other end of channels. */
export function vaultThrough({
  passwords,
  preferences,
  unsavedChanges,
  previews,
  previewTokens,
  replays,
}: VaultChannels): VaultService {
  return {
    passwords: callsThrough<VaultService['passwords']>(passwords),
    preferences: callsThrough<VaultService['preferences']>(preferences),
    unsavedChanges: callsThrough<VaultService['unsavedChanges']>(unsavedChanges),
    previews: callsThrough<VaultService['previews']>(previews),
    previewTokens: callsThrough<VaultService['previewTokens']>(previewTokens),
    replays: callsThrough<VaultService['replays']>(replays),
  };
}

function tooMany(): DomainError {
  const message = 'too many unsaved changes and preferences wait to be kept: try again later';
  return new DomainError('unavailable', message, [], busySeconds);
}
