import type { Call } from '../app.ts';
import type { Selectable } from '../queries/selection.ts';
import { collectionInView, lineFieldsOf } from './draft-view.ts';
import { selectableFields } from './field-access.ts';
import { scopeOfRelated } from './list-scope.ts';

/** The fields that the caller may select from a target, and from related collections. Each rule is asked once. */
export async function selectableOf(
  call: Call,
  known = new Map<string, ReturnType<Selectable['related']>>(),
): Promise<Selectable> {
  const { app, request, target } = call;

  function related(slug: string): ReturnType<Selectable['related']> {
    const found = known.get(slug) ?? look(slug);
    known.set(slug, found);
    return found;
  }

  async function look(slug: string): ReturnType<Selectable['related']> {
    const other = await collectionInView(call, slug);
    const asked = other && { app, request, target: other };
    return asked && (await scopeOfRelated(asked)) ? selectableOf(asked, known) : null;
  }

  const fields = [...(await lineFieldsOf(call)).toSelect, ...(await selectableFields(call))];
  return { hasId: target.model.kind === 'collection', fields, related };
}
