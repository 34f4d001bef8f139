import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject } from '../../../config/schema.ts';
import { hidesByHooks, isWhollyQueryable } from '../../../config/traits.ts';
import { type Current, decideGlobalUpdate, decideUpdate } from '../../../events/facts/documents.ts';
import type { Change } from '../../../events/facts/log.ts';
import { readableWith, seesStored } from '../../access/field-access.ts';
import type { Call, Target } from '../../app.ts';
import { maySee } from '../drafts/rights.ts';
import type { Line } from './current.ts';
import type { Write } from './write-steps.ts';

/** The members that the server sets; the id and the version of a write tell as much. */
const always: readonly string[] = ['id', 'createdAt', 'updatedAt'];

/**
 * The answer to a write, as JSON text: the document as it is shown; to a caller who may not read it only its id, its
 * times and the fields that were sent.
 *
 * @param isReadable whether the caller may read the document.
 */
export async function writtenText(write: Write, document: JsonObject, isReadable: boolean): Promise<string> {
  const { request, present } = write;
  const text = await present.document(request, document);
  if (isReadable) return text;
  const names = new Set([...always, ...sentIn(write)]);
  const shown = Object.entries(JSON.parse(text) as JsonObject).filter(([name]) => names.has(name));
  return JSON.stringify(Object.fromEntries(shown));
}

/** The names of the fields that came with a write, including those of its file. A restore sends none. */
function sentIn({ data, upload }: Write): string[] {
  return [...(isObject(data) ? Object.keys(data) : []), ...(upload ? ['url'] : [])];
}

/**
 * Decides on new values of a document or global; null if it has these values already. That would tell the values to a
 * caller who may not read them, so for this caller they are recorded all the same.
 */
export async function decideValues(
  call: Call,
  id: string,
  { current, values }: { current: Current; values: JsonObject },
): Promise<Change | null> {
  const change = decide(call, id, { current, values });
  if (change || (await readsAll(call, current.document, values))) return change;
  return decide(call, id, { current, values, isSame: true });
}

type Deciding = { current: Current; values: JsonObject; isSame?: boolean };

function decide({ app, target }: Call, id: string, { current, values, isSame = false }: Deciding): Change | null {
  const { at } = app.ids.next();
  return target.model.kind === 'global'
    ? decideGlobalUpdate(target.slug, current, { values, at, isSame })
    : decideUpdate(target, id, { current, values, at, isSame });
}

/** Whether the caller may read all of these values, which a document has, as they are stored. */
export async function readsAll(
  call: Call,
  document: JsonObject,
  values: JsonObject,
  line: Line = 'public',
): Promise<boolean> {
  const { target } = call;
  if (Object.keys(values).length === 0 || seesStored(call)) return true;
  if (!(await maySee(call, line, document))) return false;
  if (target.hasReadHooks && !areQueryable(target, values)) return false;
  return !target.hasReadRules || isDeepStrictEqual(await readableWith(call, values, [document]), values);
}

function areQueryable({ model }: Target, values: JsonObject): boolean {
  const isHooked = hidesByHooks(model);
  return model.fields.every((field) => !Object.hasOwn(values, field.name) || isWhollyQueryable(field, isHooked));
}
