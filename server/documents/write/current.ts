import type { Global } from '../../../config/model.ts';
import { documentStream } from '../../../events/facts/catalogue.ts';
import type { Current } from '../../../events/facts/documents.ts';
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

/** As {@link currentOf}, at a position of the log. */
export function currentThen(target: Target, id: string, position: number): Current | null {
  const then = target.documents.asOf(id, position);
  return withDefaults(target, then && { version: then.version, document: JSON.parse(then.text) });
}

function withDefaults({ defaults }: Target, found: Current | null): Current | null {
  if (!defaults) return found;
  if (!found) return { version: 0, document: defaults() };
  const { id: _slug, ...document } = found.document;
  return { version: found.version, document };
}
