import { randomUUID } from 'node:crypto';
import { DomainError } from '../../../config/errors.ts';
import type { Category } from '../../../config/schema.ts';
import { documentStream } from '../../../events/facts/catalogue.ts';
import { otherCallers, type Preview } from '../../../events/vault/previews.ts';
import type { Usage } from '../../../events/vault/quotas.ts';
import type { VaultPort } from '../../../events/vault/vault-port.ts';
import { isDiskFull } from '../../../storage/sqlite.ts';
import { oneByOne } from '../../platform/one-by-one.ts';
import { startPurging } from '../../platform/purging.ts';
import type { CallerKind, Previews } from '../../ports.ts';
import { previewSeconds } from './tokens.ts';

type Quotas = Record<CallerKind | 'others' | 'all', Usage>;

type Options = {
  previews: VaultPort['previews'];
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Called when expired previews could not be deleted; it is tried again. */
  onFailure: (error: Error) => void;
  quotas?: Quotas;
};

/** The previews, and the functions that only the main thread calls. */
type MainPreviews = Previews & {
  /** Deletes the previews of a document and, if it is a user, those that the user keeps. */
  forget: (category: Category, id: string) => Promise<void>;
  /** Deletes all that have expired, from the disk too. */
  purge: () => Promise<void>;
  close: () => Promise<void>;
};

const mib = 1024 * 1024;
/**
 * Behind a key there are many editors, who do not know of each other. The others take a tenth of all, however many sign
 * up.
 */
const usualQuotas: Quotas = {
  user: { count: 100, bytes: 32 * mib },
  key: { count: 1000, bytes: 256 * mib },
  other: { count: 100, bytes: 32 * mib },
  others: { count: 1000, bytes: Math.floor(102.4 * mib) },
  all: { count: 10_000, bytes: 1024 * mib },
};
const lifetime = previewSeconds * 1000;
/** How many may wait to be written: one is written in each turn of the event loop. */
const maxWaiting = 64;
const busySeconds = 5;
const fullSeconds = 60;

/** Keeps previews in the vault, each for 15 minutes. */
export function keepPreviews({ previews, now, onFailure, quotas = usualQuotas }: Options): MainPreviews {
  const queue = oneByOne(maxWaiting, () => unavailable('too many previews wait to be kept'));
  const purging = startPurging({
    purgeSome: () => previews.purge(now(), lifetime),
    leaveNoTrace: previews.leaveNoTrace,
    onFailure,
  });

  async function write(preview: Preview, by: CallerKind): Promise<void> {
    const its = { own: quotas[by], all: quotas.all, others: by === 'other' ? quotas.others : null };
    let isKept: boolean;
    try {
      isKept = await previews.keep(preview, its);
    } catch (error) {
      throw isDiskFull(error) ? diskFull() : error;
    }
    if (!isKept) throw unavailable('there are too many previews', fullSeconds);
  }

  return {
    async keep({ by, caller, ...content }) {
      const id = randomUUID();
      await queue.run(() => write({ ...content, id, caller: nameOf(by, caller), expiresAt: now() + lifetime }, by));
      return id;
    },
    read: (id) => previews.get(id, now()),
    drop: previews.delete,
    forget(category, id) {
      const callers = (['user', 'other'] as const).map((by) => nameOf(by, documentStream(category, id)));
      return previews.forget(category, id, callers);
    },
    purge: purging.purge,
    async close() {
      await Promise.all([queue.ended(), purging.close()]);
    },
  };
}

function nameOf(by: CallerKind, caller: string): string {
  return `${by === 'other' ? otherCallers : `${by}:`}${caller}`;
}

function diskFull(): DomainError {
  return new DomainError('disk_full', 'there is no room on the disk for a preview; try again later', [], busySeconds);
}

function unavailable(message: string, seconds = busySeconds): DomainError {
  return new DomainError('unavailable', `${message}; try again later`, [], seconds);
}
