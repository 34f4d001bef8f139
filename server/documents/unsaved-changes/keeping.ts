import type { UnsavedQuotas } from '../../../events/vault/unsaved-changes.ts';
import type { VaultPort } from '../../../events/vault/vault-port.ts';
import { startPurging } from '../../platform/purging.ts';
import type { UnsavedChanges } from '../../ports.ts';

const day = 24 * 60 * 60 * 1000;
/** How long unsaved changes are kept, in days. */
export const unsavedDays = 30;
const mib = 1024 * 1024;
/** Users who may sign up by themselves, and are not of the admin collection, take no room from those who edit. */
export const usualQuotas: UnsavedQuotas = {
  user: { count: 100, bytes: 20 * mib },
  others: { count: 1000, bytes: Math.floor(102.4 * mib) },
  all: { count: 10_000, bytes: 1024 * mib },
  lifetime: unsavedDays * day,
};

type Options = {
  changes: VaultPort['unsavedChanges'];
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Called when expired changes could not be deleted; it is tried again. */
  onFailure: (error: Error) => void;
  quotas?: UnsavedQuotas;
};

/** The unsaved changes, and the functions that only the main thread calls. */
type MainUnsavedChanges = UnsavedChanges & ReturnType<typeof startPurging>;

/** Keeps unsaved changes of users in the vault. */
export function keepUnsavedChanges({ changes, now, onFailure, quotas = usualQuotas }: Options): MainUnsavedChanges {
  const since = () => now() - quotas.lifetime;
  const purgeSome = () => changes.purge(since(), now());
  return {
    keep: (change) => changes.keep(change, quotas, now()),
    read: (owner, target) => changes.get(owner, target, since()),
    list: (owner) => changes.all(owner, since()),
    remove: (owner, target, expected) => changes.remove(owner, target, { expected, since: since() }),
    forget: changes.forget,
    ...startPurging({ purgeSome, leaveNoTrace: changes.leaveNoTrace, onFailure }),
  };
}
