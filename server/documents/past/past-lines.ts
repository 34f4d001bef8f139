import type { JsonObject } from '../../../config/schema.ts';
import { isCreation } from '../../../events/facts/catalogue.ts';
import { noLines } from '../../../events/facts/lines.ts';
import type { RecordedEvent } from '../../../events/facts/log.ts';
import { schemaKey } from '../../../events/facts/upcasters.ts';
import { eventOf } from '../../../events/log/log-reader.ts';
import type { App, Call } from '../../app.ts';
import { advanced, type VersionedLines } from '../drafts/outcome.ts';
import type { Line } from '../write/current.ts';
import { eventsOf } from './reading.ts';
import { pastOf } from './versions.ts';

/**
 * Both lines of a stream at one of its versions, in today's names. `isErased`: the content is no longer known.
 * `lastPublic` is the newest public state until then, null if nothing was public since the document was made.
 */
type PastLines = VersionedLines & {
  version: number;
  position: number;
  isErased: boolean;
  lastPublic: JsonObject | null;
};

/** A document as a line had it, at the position of the version that was asked for. */
type PastLine = { document: JsonObject; version: number; position: number };

/** One line of a document at a version of its stream; null if there was none, or it is no longer known. */
export async function pastLineOf(
  { app, target }: Pick<Call, 'app' | 'target'>,
  stream: string,
  { version, line }: { version: number; line: Line },
): Promise<PastLine | null> {
  if (!target.lines) {
    const past = await pastOf(app, stream, { version });
    return past?.document ? { document: past.document, version, position: past.position } : null;
  }
  const past = await pastLinesOf(app, stream, { version });
  const document = line === 'draft' ? past?.draft : past?.published;
  if (!past || !document) return null;
  const own = line === 'draft' ? past.versions.draft : past.versions.published;
  return { document, version: own ?? version, position: past.position };
}

const nothing: VersionedLines = { ...noLines, versions: { published: null, draft: null } };

/**
 * Folds both lines of a stream up to a version or a position of the log; null if it had no event yet.
 *
 * @param visit is called with the lines after each event, in order.
 */
export async function pastLinesOf(
  app: App,
  stream: string,
  end: { version: number } | { position: number },
  visit: (lines: PastLines) => void = () => {},
): Promise<PastLines | null> {
  const key = schemaKey(stream);
  const upcaster = app.upcaster();
  const upTo = 'position' in end ? end.position : app.events.head().size;
  const last = 'version' in end ? end.version : Number.MAX_SAFE_INTEGER;
  let past = null as PastLines | null;
  for await (const chunk of eventsOf(app.events, stream, upTo)) {
    for (const text of chunk) {
      const event = eventOf(text);
      if (event.header.version > last) break;
      past = next(past, event);
      visit(past);
    }
    if (past && past.version >= last) break;
  }
  return past && 'version' in end && past.version < end.version ? null : past;

  function next(past: PastLines | null, { header, data }: RecordedEvent): PastLines {
    const { version, position, type, actor } = header;
    const isGone = type === 'document.deleted' || type === 'document.erased';
    const isWhole = isCreation(type) || type.endsWith('.restored');
    const isErased =
      type === 'document.erased' || (!isGone && (data === null || (past?.isErased === true && !isWhole)));
    if (isGone || isErased || data === null) return { ...nothing, version, position, isErased, lastPublic: null };
    const event = { type, version, actor, data: upcaster.upcast(key, header, data) };
    const lines = advanced(past ?? nothing, event);
    return { ...lines, version, position, isErased, lastPublic: lines.published ?? past?.lastPublic ?? null };
  }
}
