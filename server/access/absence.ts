import type { Collection } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import { documentStream } from '../../events/facts/catalogue.ts';
import { headerOf } from '../../events/facts/envelope.ts';
import type { Call } from '../app.ts';
import { readsPast } from './access.ts';

/** The event at which a document began or ended. */
export type Turn = { version: number; position: number; recordedAt: string };

/** Why a document is not there as of a position: it was created later, or was deleted until then. */
type Absence = { created: Turn } | { deleted: Turn };

/**
 * Why a document is not there as of a position; null for one that never was or is erased, and for a caller who may read
 * it neither as it is, nor as it last was if it is gone.
 */
export async function absenceThen(call: Call<Collection>, id: string, position: number): Promise<Absence | null> {
  const { app, target } = call;
  const stream = documentStream(target.category, id);
  const newest = newestOf(call, id);
  if (newest === null || !(await readsPast(call, newest))) return null;
  const last = app.events.lastOf(stream, position);
  const at = last?.position ?? app.events.positionOf(stream, 1);
  const [header = ''] = app.events.headers(at - 1, at);
  const { type, version, recordedAt } = headerOf(header);
  const turn = { version, position: at, recordedAt };
  if (last === null) return { created: turn };
  return type === 'document.deleted' ? { deleted: turn } : null;
}

/** A document as it is, or as it last was; null for one that never was or is erased. */
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
