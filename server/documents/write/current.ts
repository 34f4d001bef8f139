import type { Global } from '../../../config/model.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { documentStream } from '../../../events/facts/catalogue.ts';
import type { Current } from '../../../events/facts/documents.ts';
import type { LinesNow } from '../../../events/facts/line-decisions.ts';
import type { Call, Target } from '../../app.ts';
import { idOf } from '../../http/requests.ts';

// A global is a document whose id is its slug, and which exists from the start with its defaults.

/** The id of the document that a request is about. */
export function idIn({ request, target }: Pick<Call, 'request' | 'target'>): string {
  return target.model.kind === 'global' ? target.slug : idOf(request);
}

/** The stream of a document or global. */
export function streamOf({ category }: Pick<Target, 'category'>, id: string): string {
  return documentStream(category, id);
}

/** A document or global as rules, hooks and decisions see it; null if there is no such document. */
export function currentOf(target: Target<Global>, slug: string): Current;
export function currentOf(target: Target, id: string): Current | null;
export function currentOf(target: Target, id: string): Current | null {
  return withDefaults(target, target.documents.current(id));
}

/** The state of a document with drafts that a request reads or writes. */
export type Line = 'public' | 'draft';

/** Both lines of a document or global with drafts, for decisions. @throws Error without drafts. */
export function linesOf({ app, target }: Pick<Call, 'app' | 'target'>, id: string): LinesNow {
  const { lines, defaults } = target;
  if (!lines) throw new Error(`${target.slug} has no drafts`);
  const now = lines(id);
  if (!defaults) return now;
  const { published, draft } = now;
  const isEqual = published === draft;
  const publicFields = published && withoutId(published);
  // The read tables keep nothing of a global whose only draft was discarded.
  const head = now.head || app.events.versionOf(streamOf(target, id));
  return { ...now, head, published: publicFields, draft: isEqual ? publicFields : draft && withoutId(draft) };
}

/** One line of a document or global, as {@link currentOf} gives its public state. */
export function lineOf({ defaults }: Pick<Target, 'defaults'>, now: LinesNow, line: Line): Current | null {
  const document = line === 'draft' ? now.draft : now.published;
  const version = line === 'draft' ? now.versions.draft : now.versions.published;
  if (document) return { version: version ?? now.head, document };
  return defaults && { version: 0, document: defaults() };
}

/** As {@link currentOf}, at a position of the log. */
export function currentThen(target: Target, id: string, position: number): Current | null {
  const then = target.documents.asOf(id, position);
  return withDefaults(target, then && { version: then.version, document: JSON.parse(then.text) });
}

function withDefaults({ defaults }: Target, found: Current | null): Current | null {
  if (!defaults) return found;
  if (!found) return { version: 0, document: defaults() };
  return { version: found.version, document: withoutId(found.document) };
}

/** A global has no id. */
function withoutId({ id: _slug, ...document }: JsonObject): JsonObject {
  return document;
}
