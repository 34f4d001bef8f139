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
};

/** The way to erasures, for request handlers. */
export function erasurePortOf({ worker, guard, caught, cleaned }: Erasing): ErasurePort {
  return {
    settle: worker.settle,
    obstacle: async (position) => worker.obstacle(position),
    progress: async () => cleaned(),
    neededBeside: guard.neededBeside,
    countMails: async (emails) => caught()?.count(emails) ?? 0,
    forgetMails: async (emails) => caught()?.forget(emails),
  };
}
