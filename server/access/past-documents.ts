import type { Collection } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import { documentStream } from '../../events/facts/catalogue.ts';
import { headerOf } from '../../events/facts/envelope.ts';
import type { Call } from '../app.ts';
import { mayRead } from './access.ts';

/** The event that created or deleted a document. */
export type LifetimeEvent = { version: number; position: number; recordedAt: string };

/** Why a document was not there at a position: it was created later, or had been deleted. */
type Absence = { created: LifetimeEvent } | { deleted: LifetimeEvent };

/**
 * Tells why a document was not there at a position. Null if there never was such a document, if it is erased, and if
 * the caller may not read it as it is today or, deleted, as it last was.
 */
export async function absenceAsOf(call: Call<Collection>, id: string, position: number): Promise<Absence | null> {
  const { app, target } = call;
  const stream = documentStream(target.category, id);
  const newest = newestOf(call, id);
  if (newest === null || !(await mayRead(call, newest.document, newest.position))) return null;
  const last = app.events.lastOf(stream, position);
  const at = last?.position ?? app.events.positionOf(stream, 1);
  const [header = ''] = app.events.headers(at - 1, at);
  const { type, version, recordedAt } = headerOf(header);
  const event = { version, position: at, recordedAt };
  if (last === null) return { created: event };
  return type === 'document.deleted' ? { deleted: event } : null;
}

/** A document as it is, or as it last was; null if there never was one, or it is erased. */
export function newestOf(
  { app, target }: Call<Collection>,
  id: string,
): { document: JsonObject; position: number } | null {
  const today = target.documents.current(id);
  if (today !== null) return { document: today.document, position: app.appliedPosition() };
  const stream = documentStream(target.category, id);
  const version = app.events.versionOf(stream);
  if (version === 0) return null;
  const position = app.events.positionOf(stream, version) - 1;
  const last = target.documents.asOf(id, position);
  return last && { document: JSON.parse(last.text), position };
}
