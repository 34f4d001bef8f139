import type { Readable } from 'node:stream';
import { DomainError } from '../../../config/errors.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { filesStream, schemaStream } from '../../../events/facts/catalogue.ts';
import type { EventText } from '../../../events/log/event-checks.ts';
import { eventOf, type LogReader } from '../../../events/log/log-reader.ts';
import { fileIn } from '../../../events/service-events/losses.ts';
import type { BlobStore } from '../../../storage/blobs.ts';
import type { Sight } from '../../access/sight.ts';
import { eventsOf, headersBetween } from '../../documents/past/reading.ts';
import { readAsset } from '../../platform/carried.ts';
import { summaryHtml } from './bundle-summary.ts';
import { type Proven, proverOf, subtreesOf } from './proofs.ts';
import { bundleReadme, textsVersion } from './readme.ts';
import {
  correctionsWithin,
  fileOf,
  foldShown,
  noteErased,
  type ShownEvent,
  type ShownFile,
  showEvent,
  shownJson,
} from './shown.ts';
import { type ZipEntry, zipOf } from './zip.ts';

/** The contents of a bundle. */
export type Bundle = Proven & {
  blobs: BlobStore;
  stream: string;
  sight: Sight;
  withFiles: boolean;
  /** True: what proves that there was no later version, however much that is. */
  isComplete: boolean;
};

/** As many headers after the last event are shown unasked, so that it is proven to be the last. */
const restByDefault = 1000;
const maxRest = 100_000;

const seesAll = () => true;

/**
 * The files of an evidence pack as a ZIP stream (docs/log-format.md); the log is read as the stream is.
 *
 * @throws DomainError `not_found` for a stream that had no event when the checkpoint was signed; `too_many_events` when
 * more than 100,000 events would have to be shown to prove which one was the last; AlteredEventError when an event of
 * the stream is not what was recorded.
 */
export async function bundleZip(bundle: Bundle, madeAt: Date): Promise<Readable> {
  const { log, blobs, checkpoint, stream } = bundle;
  const last = log.lastOf(stream, checkpoint.size);
  if (last === null)
    throw new DomainError('not_found', `the log has no stream ${JSON.stringify(stream.slice(0, 200))}`);
  const showsRest = restIsShown(bundle, last.position);
  // Before the response begins: an altered payload is then a refusal, and not an archive that is cut off.
  for await (const chunk of eventsOf(log, stream, checkpoint.size)) requireWhole(bundle, chunk);
  const verifier = await readAsset('verify/annals-verify.mjs');
  const { log: origin } = log.head();
  const files: IncludedFile[] = [];

  function* entries(): Generator<ZipEntry> {
    yield {
      name: 'README.txt',
      content: bundleReadme({ origin, stream, versions: last?.version ?? 0, signedAt: checkpoint.signedAt }),
    };
    yield { name: 'summary.html', content: () => summaryHtml({ log, checkpoint, stream }) };
    yield { name: 'bundle.json', content: () => bundleJson(bundle, origin, showsRest, files) };
    yield { name: 'checkpoint.txt', content: checkpoint.note };
    yield { name: 'annals-verify.mjs', content: verifier };
    // By now they are known.
    for (const { sha256, included } of files) {
      if (included) yield { name: `files/${sha256}`, content: () => bytesOf(blobs, sha256), isStored: true };
    }
  }

  return zipOf(entries(), madeAt);
}

/** A pack holds exact texts, since its proofs are about those. */
function requireWhole({ stream, sight }: Bundle, events: readonly EventText[]): void {
  const seen = events.map((event) => sight.seen(eventOf(event)));
  const withheld = seen.find(({ isWithheld }) => isWithheld);
  if (withheld) {
    const { version } = withheld.header;
    const message =
      `a pack of ${stream} would hold drafts that you may not read, in version ${version}: the rule readDrafts, or the ` +
      'audit rule (payloads), must grant them';
    throw new DomainError('forbidden', message);
  }
  const partial = seen.find(({ isPartial }) => isPartial);
  if (!partial) return;
  const message =
    `a pack of ${stream} would hold fields that you may not read, in version ${partial.header.version}: it is made of the exact texts, ` +
    'which the audit rule must grant (payloads)';
  throw new DomainError('forbidden', message);
}

function restIsShown({ checkpoint, isComplete }: Bundle, position: number): boolean {
  const count = checkpoint.size - position;
  if (isComplete && count > maxRest) {
    throw new DomainError(
      'too_many_events',
      `${count} events came after the last one of this stream, and complete=true shows at most ${maxRest} headers; ` +
        'an export of the whole range proves it, too',
    );
  }
  return isComplete || count <= restByDefault;
}

async function* bytesOf(blobs: BlobStore, sha256: string): AsyncGenerator<Buffer> {
  yield* await blobs.open(sha256);
}

type IncludedFile = ShownFile & { included: boolean; missing?: true };

/** @param files gets the files that the events name. */
async function* bundleJson(
  { log, blobs, checkpoint, verifierKey, earlier, stamped, handovers, stream, withFiles }: Bundle,
  origin: string,
  showsRest: boolean,
  files: IncludedFile[],
): AsyncGenerator<string> {
  const { size } = checkpoint;
  const erased = noteErased();
  const named = new Map<string, ShownFile>();
  let document: JsonObject | null = null;
  let last: ShownEvent | null = null;
  const prove = proverOf(log, size);
  const json = (event: ShownEvent) => shownJson(event, prove(event.header.position));
  const whole = (event: EventText) => json(showEvent(event, seesAll));

  const head = {
    format: 'annals-bundle/1',
    origin,
    verifierKey,
    checkpoint: checkpoint.note,
    texts: textsVersion,
    signedAt: checkpoint.signedAt,
    stream,
    streams: [stream],
  };
  yield `${JSON.stringify(head).slice(0, -1)},"events":[`;
  yield* joined(eventsOf(log, stream, size), (event) => {
    const shown = showEvent(event, seesAll);
    erased.note(shown);
    document = foldShown(document, shown);
    const file = fileOf(document, shown.header.version);
    if (file && !named.has(file.sha256)) named.set(file.sha256, file);
    last = shown;
    return json(shown);
  });
  yield '],"schemas":[';
  yield* joined(eventsOf(log, schemaStream, size), whole);
  const declarations = erased.declarations(log, size).map(whole);
  yield `],"erasures":[${declarations.join(',')}]`;
  const corrections = correctionsWithin(log, 1, size).map(whole);
  if (corrections.length > 0) yield `,"corrections":[${corrections.join(',')}]`;
  const losses = [];
  for await (const chunk of eventsOf(log, filesStream, size))
    losses.push(...chunk.filter((event) => isAbout(event, stream)));
  if (losses.length > 0) yield `,"losses":[${losses.map(whole).join(',')}]`;
  if (!stream.startsWith('accounts/')) yield `,"document":${JSON.stringify(document)}`;
  const header = (last as ShownEvent | null)?.header;
  for (const file of named.values()) files.push(await included(blobs, file, withFiles));
  const tail = {
    versions: { [stream]: header?.version ?? 0 },
    files,
    earlier,
    ...(stamped.length > 0 && { stamped }),
    ...(handovers.length > 0 && { handovers }),
  };
  yield `,${JSON.stringify(tail).slice(1, -1)}`;
  if (showsRest && header) yield* rest(log, header.position, size);
  yield '}\n';
}

/** Whether an event of the files is about one of this document. */
function isAbout(event: EventText, stream: string): boolean {
  return fileIn(eventOf(event))?.stream === stream;
}

async function included(blobs: BlobStore, file: ShownFile, withFiles: boolean): Promise<IncludedFile> {
  const isThere = (await blobs.size(file.sha256)) !== null;
  return { ...file, included: withFiles && isThere, ...(!isThere && { missing: true }) };
}

/** Every header after a position: that no other event of the stream is among them is what proves its last one. */
async function* rest(log: LogReader, after: number, size: number): AsyncGenerator<string> {
  yield `,"rest":{"after":${after},"before":${JSON.stringify(subtreesOf(log, after))},"headers":[`;
  yield* joined(headersBetween(log, after + 1, size), (header) => JSON.stringify(header));
  yield ']}';
}

/** The items of chunks as JSON, with commas between. */
async function* joined<T>(chunks: AsyncIterable<readonly T[]>, json: (item: T) => string): AsyncGenerator<string> {
  let comma = '';
  for await (const chunk of chunks) {
    yield comma + chunk.map(json).join(',');
    comma = ',';
  }
}
