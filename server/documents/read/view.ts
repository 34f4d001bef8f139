import type { Field } from '../../../config/model.ts';
import { fieldsInside } from '../../../config/nesting.ts';
import type { Members } from '../../../projections/query/lists.ts';
import type { App, Call, Target } from '../../app.ts';
import { isTrusted } from '../../http/requests.ts';
import { insideOf, type Selection, targetOf, type View } from '../../queries/selection.ts';

/** Documents as they are stored. */
export const plainView: View = { depth: 0, select: null };

/** The members of a target's own documents that a view asks for. */
export function membersOf({ select }: View): Members {
  return select && new Set(select.members.keys());
}

/**
 * The members that it is enough to read of stored documents: hooks, and rules that look at the document, need it whole.
 */
export function membersToRead({ request, target }: Call, wanted: Members): Members {
  const isNeededWhole = target.hasReadHooks || (target.hasReadRules && !isTrusted(request, target.model));
  return isNeededWhole ? null : wanted;
}

/**
 * A place in a document: the levels of related documents that are left there, and whether the document itself was asked
 * for.
 */
export type Place = { below: number; isFirst: boolean };

/**
 * The part of a related document that stands in the place of its id; null where the id stays. `depth` follows joins
 * only in the documents that were asked for, a path follows all that it names.
 */
export function selectionBehind(field: Field, { isWhole, members }: Selection, place: Place): Selection | null {
  const isFollowed = place.below > 0 && isWhole && (place.isFirst || field.collection === undefined);
  if (isFollowed) return { isWhole, members };
  return members.size > 0 ? { isWhole: false, members } : null;
}

/**
 * The members that a view asks for of the documents of each related collection, at whichever place: one set for each,
 * since each document is read once.
 */
export function membersElsewhere(app: Pick<App, 'collections'>, target: Target, view: View): (slug: string) => Members {
  const found = new Map<string, Set<string> | null>();
  const visited = new Set<string>();

  function visit(fields: readonly Field[], selection: Selection, place: Place): void {
    for (const field of fields) {
      const inside = insideOf(selection, field.name);
      if (!inside) continue;
      const slug = targetOf(field);
      if (slug === undefined) visit(fieldsInside(field), inside, place);
      else enter(slug, selectionBehind(field, inside, place), place.below - 1);
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
