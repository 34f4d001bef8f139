import { DomainError } from '../../../config/errors.ts';
import type { Category } from '../../../config/schema.ts';
import { documentStream } from '../../../events/facts/catalogue.ts';
import type { ReplayQuotas } from '../../../events/vault/replays.ts';
import type { VaultPort } from '../../../events/vault/vault-port.ts';
import { startPurging } from '../../platform/purging.ts';
import type { CallerKind, Replays } from '../../ports.ts';

type Quotas = Record<CallerKind | 'others' | 'all', number>;

type Options = {
  replays: VaultPort['replays'];
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Called when expired answers could not be deleted; it is tried again. */
  onFailure: (error: Error) => void;
  quotas?: Quotas;
};

/** The answers, and the functions that only the main thread calls. */
type MainReplays = Replays & {
  /** Deletes the answers about a document and, if it is a user, those to the user. */
  forget: (category: Category, id: string) => Promise<void>;
  /** Deletes all that have expired. */
  purge: () => Promise<void>;
  close: () => Promise<void>;
};

/** Longer than this, no answer is kept. */
const lifetime = 3600 * 1000;
/** As with previews: behind a key there are many editors, and the others may be many accounts of one person. */
const usualQuotas: Quotas = { user: 1000, key: 10_000, other: 100, others: 10_000, all: 100_000 };
const fullSeconds = 60;

/** Keeps answers that may be given again in the vault, each for an hour at most. */
export function keepReplays({ replays, now, onFailure, quotas = usualQuotas }: Options): MainReplays {
  const purging = startPurging({
    purgeSome: () => replays.purge(now(), lifetime),
    leaveNoTrace: replays.leaveNoTrace,
    onFailure,
  });

  return {
    async reserve({ by, caller, seconds, ...request }) {
      const at = now();
      const lived = Math.min(seconds * 1000, lifetime);
      const most: ReplayQuotas = {
        own: quotas[by],
        others: by === 'other' ? quotas.others : null,
        all: quotas.all,
      };
      const replay = { ...request, caller: nameOf(by, caller), expiresAt: at + lived };
      const found = await replays.reserve(replay, most, at);
      if (!found) throw new DomainError('unavailable', tooMany, [], fullSeconds);
      const { attempt, fingerprint, answer, expiresAt } = found;
      return { attempt, fingerprint, answer, age: lived - (expiresAt - at) };
    },
    keep: replays.keep,
    drop: replays.drop,
    forget(category, id) {
      const stream = documentStream(category, id);
      return replays.forget(
        (['user', 'other'] as const).map((by) => nameOf(by, stream)),
        stream,
      );
    },
    purge: purging.purge,
    close: purging.close,
  };
}

const tooMany =
  'too many answers are kept for requests with an idempotency-key: try again later, or without the header';

function nameOf(by: CallerKind, caller: string): string {
  return `${by}:${caller}`;
}
