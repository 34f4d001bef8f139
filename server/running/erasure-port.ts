import type { ErasureWorker } from '../audit/erasure/worker.ts';
import type { BlobGuard } from '../files/blobs/guard.ts';
import type { ErasurePort } from '../ports.ts';
import type { Writer } from '../writer/writer.ts';
import type { AccountService } from './account-service.ts';

type Erasing = {
  worker: ErasureWorker;
  guard: BlobGuard;
  caught: AccountService['caught'];
  cleaned: Writer['cleaned'];
  /** See {@link ErasurePort}; synchronous. */
  elsewhere: (position: number) => string | null;
};

/** The way to erasures, for request handlers. */
export function erasurePortOf({ worker, guard, caught, cleaned, elsewhere }: Erasing): ErasurePort {
  return {
    settle: async (position) => (await worker.settle(position)) && elsewhere(position) === null,
    obstacle: async (position) => worker.obstacle(position),
    elsewhere: async (position) => elsewhere(position),
    progress: async () => cleaned(),
    neededBeside: guard.neededBeside,
    countMails: async (emails) => caught()?.count(emails) ?? 0,
    forgetMails: async (emails) => caught()?.forget(emails),
  };
}
