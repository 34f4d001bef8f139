import { withCategories } from '../../../events/service-events/categories.ts';
import { newestOf } from '../../../events/store/ids.ts';
import { webhooksFile } from '../../../projections/tables/files.ts';
import { searchFileOf } from '../../../projections/tables/search-tables.ts';
import { type BlobGuard, openBlobGuard } from '../../files/blobs/guard.ts';
import { createPins } from '../../files/blobs/pins.ts';
import { readConditions } from '../../webhooks/conditions.ts';
import { createWebhookService, type WebhookService } from '../../webhooks/service.ts';
import { connectWriter } from '../../writer/append.ts';
import { type Offloading, openOffloading } from '../../writer/offloading.ts';
import { warnOfRest, watchClock } from '../clock.ts';
import { watchDisk } from '../disk-watch.ts';
import { forgetFormer } from '../nodes/former.ts';
import { type ThreadData, threadSettings } from '../thread-data.ts';
import { warnOfUnsigned } from '../warnings.ts';
import type { AccountService } from './account-service.ts';
import type { Checkpointing } from './checkpointing.ts';
import type { Foundation } from './foundation.ts';
import type { EngineSearch, LogWriter } from './log-writer.ts';
import { keysInService } from './signing-keys.ts';

type StartedParts = { foundation: Foundation; logWriter: LogWriter };

/** A log that the writer has opened. `found`: the events that it had before this start. */
export type OpenedLog = Awaited<ReturnType<typeof openLog>>;

/**
 * Waits until the writer has opened the log.
 *
 * @throws StartError if the data directory refuses; ConfigError for wrong conditions of webhooks.
 */
export async function openLog({ foundation, logWriter }: StartedParts, accounts: AccountService) {
  const { options, directory, now } = foundation;
  const { settings, loaded, log, node } = options;
  const { writer, search } = logWriter;
  await readConditions(loaded.model, settings.isProduction);
  await accounts.passwords.ready;
  const { log: id, readFile, size, found, foundAt, upgradedFrom, categories } = await writer.ready;
  // Only the log knows the categories.
  const model = withCategories(loaded.model, categories);
  const conditions = await readConditions(model, settings.isProduction);
  (await accounts.prepare(model)).begin();
  if (!node) warnOfRest(log, { foundAt, now: now() });
  // Now it is certain that they are in PostgreSQL.
  if (directory.node) forgetFormer(directory.path);
  const searchFile = searchFileOf(readFile, model.schema);
  if (search && searchFile !== null) {
    search.thread.begin({ readFile, searchFile, schema: model.schema });
    writer.tellSearch(search.thread.notifications, search.cell);
  }
  return { id, readFile, size, found, upgradedFrom, categories, model, conditions, searchFile };
}

/** Watches the disk and the clock. */
export function watchMachine({ options: { log }, parts, directory, state, clock, counter }: Foundation): void {
  parts.add(watchDisk({ directory: directory.path, state, log }), (end) => end());
  parts.add(watchClock({ clock, newest: () => newestOf(counter), log }), (end) => end());
}

/** The signing keys of a log, ready to sign. */
export async function openKeys({ foundation, logWriter }: StartedParts, { id }: OpenedLog) {
  const { options, directory, file, ids, mayRecord } = foundation;
  const { writer, upToDate } = logWriter;
  const keys = keysInService({
    file,
    directory,
    logName: id,
    append: (command) => connectWriter(writer.connect()).appendAnyway(command),
    nextId: () => ids.next().id,
    upToDate,
    mayRecord,
    log: options.log,
  });
  await keys.begin();
  return keys;
}

/** Opens the store of files, and the mover of segments into a bucket. */
export async function openFiles(
  { foundation, logWriter }: StartedParts,
  { id, model }: OpenedLog,
): Promise<{ guard: BlobGuard; moving: Offloading }> {
  const { options, parts, file, blobs } = foundation;
  const { settings, log, node, isBrief, takesFiles } = options;
  const { writer, upToDate, woken } = logWriter;
  const pins = node?.pins ?? createPins();
  const isIdle = isBrief && !takesFiles;
  const guard = parts.add(
    await openBlobGuard({ settings, model, logId: id, writer, pins, upToDate, isBrief: isIdle, log }),
    ({ close }) => close(),
  );
  const moving = parts.add(openOffloading({ file, blobs, ready: guard.store, log }), ({ close }) => close());
  woken.moving = moving;
  if (!isBrief) moving.wake();
  return { guard, moving };
}

type Signing = {
  checkpointing: Checkpointing;
  keys: Awaited<ReturnType<typeof openKeys>>;
  guard: BlobGuard;
};

/** Opens the notary. `unsigned`: how many of the last events found no checkpoint had signed. */
export async function openNotary(
  { foundation, logWriter }: StartedParts,
  { id: logId, size, found, upgradedFrom }: OpenedLog,
  { checkpointing, keys, guard }: Signing,
) {
  const { log, node } = foundation.options;
  const { upToDate } = logWriter;
  // Also after a start that is cut short, the last events are signed.
  foundation.parts.add(checkpointing, ({ close }) => close());
  const opened = { logId, size, found, store: guard.store, upToDate, ...keys };
  const { notary, signedAtStart } = await checkpointing.start(opened);
  const unsigned = Math.max(found - signedAtStart, 0);
  // On a node another one may have written them just now, and signs them.
  if (!node) warnOfUnsigned(log, { found, unsigned, upgradedFrom });
  return { notary, unsigned };
}

/** Begins to deliver to webhooks, unless the engine runs a single command. */
export function openWebhookService(
  foundation: Foundation,
  { id, readFile, model, conditions }: OpenedLog,
): WebhookService {
  const { options, parts, directory, file, now, mayRecord } = foundation;
  const { settings, log, node, isBrief } = options;
  const service = parts.add(
    createWebhookService({
      model,
      conditions,
      isProduction: settings.isProduction,
      log,
      now,
      node: node?.webhooks(mayRecord) ?? null,
    }),
    ({ close }) => close(),
  );
  if (!isBrief) service.start({ log: id, logFile: file, readFile, path: webhooksFile(directory.path) });
  return service;
}

/** The start data of the threads that answer requests. */
export function threadDataOf(foundation: Foundation, search: EngineSearch | null, opened: OpenedLog): ThreadData {
  const { options, directory, file, counter, clockCell, marks, state } = foundation;
  const { categories, readFile, searchFile } = opened;
  return {
    categories,
    readFile,
    search: search && searchFile !== null ? { file: searchFile, cell: search.cell } : null,
    logFile: file,
    counter,
    clockCell,
    marks,
    state,
    ...threadSettings(options.settings, directory),
  };
}
