import Joi from 'joi';
import { compileMembers } from '../../../config/documents.ts';
import { reasonText } from '../../../config/erasures.ts';
import { DomainError, inBody, invalidField } from '../../../config/errors.ts';
import { show } from '../../../config/suggest.ts';
import { filesStream } from '../../../events/facts/catalogue.ts';
import type { Header } from '../../../events/facts/envelope.ts';
import { filesNamedIn } from '../../../events/facts/named-files.ts';
import type { EventText } from '../../../events/log/event-checks.ts';
import type { LogReader } from '../../../events/log/log-reader.ts';
import { decideLosses, type FileAt, fileKey, lossesOf } from '../../../events/service-events/losses.ts';
import type { App, RouteCall, RouteParts } from '../../app.ts';
import { appendOf } from '../../callers/append.ts';
import { actorOf, contextOf, requestId } from '../../http/requests.ts';

/** Files to be looked for in a store, and why they may be lost. `store`: which store, as `storeName` has it. */
type Suspects = { store: string; files: FileAt[]; reason: string };

/** A request, and the service with the name of its store. */
type StoreCall = RouteCall & { app: App & Pick<RouteParts, 'store'> };

/** At most as many files go in one call: a slow bucket has to answer for all of them before the caller gives up. */
export const maxSuspects = 200;

/**
 * The recorded counts: files that are lost, and that are there again. `erased`: files whose versions are erased, so not
 * recorded.
 */
type LossCounts = { lost: number; found: number; erased: number };

/**
 * Records which files are lost: they are missing, and the log does not say so yet; and which are found: the log says
 * that they are lost, and they are there. The service checks the store before it appends, whatever the command says,
 * and records each file once.
 *
 * @throws DomainError `conflict` if another store is meant, `validation_failed` if a version names no file.
 */
export async function recordLosses(
  { app, request }: StoreCall,
  { store, files, reason }: Suspects,
): Promise<LossCounts> {
  const { events, blobs } = app;
  if (store !== app.store)
    throw new DomainError('conflict', `the service keeps its files in ${app.store}, not in ${store}`);
  const named = new Map(files.map((file, index) => [fileKey(file), { file, sha256: namedBy(events, file, index) }]));
  const seen: { file: FileAt; isThere: boolean }[] = [];
  for (const { file, sha256 } of named.values()) {
    if (sha256 !== null) seen.push({ file, isThere: (await blobs.size(sha256)) !== null });
  }
  const append = appendOf(app, request);
  const context = { ...contextOf(request), reason };
  const cause = { actor: actorOf(request), correlationId: requestId(request), context };
  for (;;) {
    const version = events.versionOf(filesStream);
    const known = lossesOf(events);
    // A store may take its time, and documents are erased meanwhile.
    const left = seen.filter(({ file }) => eventOf(events, file)?.body !== null);
    const news = left.filter(({ file, isThere }) => isThere === known.has(fileKey(file)));
    const lost = news.filter(({ isThere }) => !isThere).map(({ file }) => file);
    const found = news.filter(({ isThere }) => isThere).map(({ file }) => file);
    const change = decideLosses(lost, found, version);
    const outcome = change && (await append({ ...change, ...cause }));
    if (!outcome || outcome.ok) return { lost: lost.length, found: found.length, erased: named.size - left.length };
    // Another call was first, and may have said the same.
    if (outcome.conflict !== 'version')
      throw new Error(`losses of files have no ${outcome.conflict} to be in conflict`);
  }
}

/** The SHA-256 of the file that a version names; null if the version is erased. */
function namedBy(events: LogReader, file: FileAt, index: number): string | null {
  const event = eventOf(events, file);
  if (event?.body === null) return null;
  const [sha256] = event ? filesNamedIn(JSON.parse(event.header) as Header, event.body) : [];
  if (sha256 !== undefined) return sha256;
  const { stream, version } = file;
  throw invalidField(
    inBody(`files.${index}`, 'reference_not_found'),
    `must be a version that names a file, got ${show(`${stream} ${version}`)}`,
  );
}

function eventOf(events: LogReader, { stream, version }: FileAt): EventText | undefined {
  const [position = 0] = events.positionsOf(stream, version - 1, version);
  return position === 0 ? undefined : events.texts(position - 1, position)[0];
}

/** Reads what a command sends. @throws InvalidBody with every wrong member. */
export const readSuspects = compileMembers<Suspects>({
  store: Joi.string().required(),
  reason: reasonText,
  files: Joi.array()
    .items(Joi.object({ stream: Joi.string().required(), version: Joi.number().strict().integer().min(1).required() }))
    .max(maxSuspects)
    .required(),
});
