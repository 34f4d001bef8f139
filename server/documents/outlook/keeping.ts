import { DomainError } from '../../../config/errors.ts';
import type { VaultPort } from '../../../events/vault/vault-port.ts';
import type { PreviewTokens } from '../../ports.ts';

/** How many tokens there may be at a time. */
const mostTokens = 1000;

/** The tokens, and the function that only the main thread calls: it deletes those that a user has made. */
type MainTokens = PreviewTokens & { forget: (maker: string) => Promise<void> };

/** Keeps the tokens that show views of the site. @param now gives milliseconds since the epoch. */
export function keepPreviewTokens({
  tokens,
  now,
}: {
  tokens: VaultPort['previewTokens'];
  now: () => number;
}): MainTokens {
  return {
    async add(token) {
      if (await tokens.add(token, { now: now(), most: mostTokens })) return;
      throw new DomainError('unavailable', `there are ${mostTokens} preview tokens: delete some first`, [], 60);
    },
    find: (hash) => tokens.find(hash, now()),
    all: () => tokens.all(now()),
    drop: tokens.delete,
    forget: tokens.forget,
  };
}
