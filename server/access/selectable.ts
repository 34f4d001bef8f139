import type { Call } from '../app.ts';
import type { Selectable } from '../queries/selection.ts';
import { selectableFields } from './field-access.ts';
import { scopeElsewhere } from './list-scope.ts';

/** The fields that the caller may select from a target, and from what is related to it. Each rule is asked once. */
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
    const other = app.collections.get(slug);
    const elsewhere = other && { app, request, target: other };
    return elsewhere && (await scopeElsewhere(elsewhere)) ? selectableOf(elsewhere, known) : null;
  }

  return { hasId: target.model.kind === 'collection', fields: await selectableFields(call), related };
}
