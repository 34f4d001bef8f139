import type { Field } from '../../../config/model.ts';
import { fieldsInside } from '../../../config/nesting.ts';
import type { Members } from '../../../projections/query/lists.ts';
import type { App, Call, Target } from '../../app.ts';
import { isTrusted } from '../../http/requests.ts';
import { insideOf, type Selection, targetOf, type View } from '../../queries/selection.ts';

/** Documents as they are stored. */
export const plainView: View = { depth: 0, select: null };

/** The members that a view asks for of the listed documents themselves. */
export function membersOf({ select }: View): Members {
  return select && new Set(select.members.keys());
}

/**
 * The members of stored documents to read: the wanted ones, or null for all, if hooks or field rules look at the whole
 * document.
 */
export function membersToRead({ request, target }: Call, wanted: Members): Members {
  const isNeededWhole = target.hasReadHooks || (target.hasReadRules && !isTrusted(request, target.model));
  return isNeededWhole ? null : wanted;
}

/**
 * How many levels of related documents are left below a document, and whether the document itself was asked for.
 */
type Depth = { below: number; isFirst: boolean };

/**
 * The part of a related document that redepths its id; null if the id stays. `depth` follows joins only in the
 * documents that were asked for; a path follows every relation that it names.
 */
export function selectionOfRelated(field: Field, { isWhole, members }: Selection, depth: Depth): Selection | null {
  const isFollowed = depth.below > 0 && isWhole && (depth.isFirst || field.collection === undefined);
  if (isFollowed) return { isWhole, members };
  return members.size > 0 ? { isWhole: false, members } : null;
}

/**
 * The members that a view asks for of the documents of each related collection, at any level: one set per collection,
 * since each document is read once.
 */
export function membersOfRelated(app: Pick<App, 'collections'>, target: Target, view: View): (slug: string) => Members {
  const found = new Map<string, Set<string> | null>();
  const visited = new Set<string>();

  function visit(fields: readonly Field[], selection: Selection, depth: Depth): void {
    for (const field of fields) {
      const inside = insideOf(selection, field.name);
      if (!inside) continue;
      const slug = targetOf(field);
      if (slug === undefined) visit(fieldsInside(field), inside, depth);
      else enter(slug, selectionOfRelated(field, inside, depth), depth.below - 1);
    }
  }

  function enter(slug: string, selection: Selection | null, below: number): void {
    const other = app.collections.get(slug);
    if (!other || !selection) return;
    const { isWhole, members } = selection;
    const known = found.get(slug);
    found.set(slug, isWhole || known === null ? null : new Set([...(known ?? []), ...members.keys()]));
    if (isWhole && members.size === 0) {
      if (visited.has(`${slug} ${below}`)) return;
      visited.add(`${slug} ${below}`);
    }
    visit(other.model.fields, selection, { below, isFirst: false });
  }

  if (view.select === null) return () => null;
  visit(target.model.fields, view.select, { below: view.depth, isFirst: true });
  return (slug) => found.get(slug) ?? null;
}
