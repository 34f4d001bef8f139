import { type ErasureWorker, openErasureWorker } from '../../audit/erasure/worker.ts';
import type { BlobGuard } from '../../files/blobs/guard.ts';
import type { ErasurePort } from '../../ports.ts';
import type { Offloading } from '../../writer/offloading.ts';
import { elsewhereOf } from '../nodes/erasures.ts';
import type { MainVaultService } from '../vault-service.ts';
import type { AccountService } from './account-service.ts';
import type { Foundation } from './foundation.ts';
import type { LogWriter } from './log-writer.ts';

type Options = {
  foundation: Foundation;
  logWriter: LogWriter;
  accounts: AccountService;
  vaultService: MainVaultService;
  guard: BlobGuard;
  moving: Offloading;
};

/** Opens the worker that finishes erasures, and gives its functions for request handlers. */
export function openErasures({ foundation, logWriter, accounts, vaultService, guard, moving }: Options): ErasurePort {
  const { options, parts, file } = foundation;
  const { writer, archiving, woken } = logWriter;
  const worker = parts.add(
    openErasureWorker({
      logFile: file,
      guard,
      scrub: writer.scrub,
      rewriteSegments: archiving.rewriteSegments,
      objects: moving,
      forgetKept: vaultService.forgetKept,
      logger: options.log,
    }),
    ({ close }) => close(),
  );
  woken.erasures = worker;
  worker.wake();
  return portOf(worker, { foundation, logWriter, accounts, guard });
}

function portOf(
  worker: ErasureWorker,
  { foundation, logWriter: { writer }, accounts: { caught }, guard }: Omit<Options, 'moving' | 'vaultService'>,
): ErasurePort {
  const elsewhere = elsewhereOf(foundation.options.settings, writer.standing);
  return {
    settle: async (position) => (await worker.settle(position)) && elsewhere(position) === null,
    obstacle: async (position) => worker.obstacle(position),
    elsewhere: async (position) => elsewhere(position),
    progress: async () => writer.cleaned(),
    neededBeside: guard.neededBeside,
    countMails: async (emails) => caught()?.count(emails) ?? 0,
    forgetMails: async (emails) => caught()?.forget(emails),
  };
}
