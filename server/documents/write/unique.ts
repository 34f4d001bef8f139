import { partsOfScope } from '../../../events/facts/claims.ts';
import type { Change } from '../../../events/facts/log.ts';
import type { Where } from '../../../projections/query/where.ts';
import type { Target } from '../../app.ts';
import { resolvePath } from '../../queries/paths.ts';
import { fieldOf, taken } from './writes.ts';

/** A unique value that another document is known to have. */
type Rival = { field: string; id: string };

/**
 * Refuses unique values that other documents have, before anything is kept for a document that the log would refuse.
 * The log still decides.
 *
 * @throws DomainError `conflict` naming the fields.
 */
export async function refuseTaken(target: Target, change: Change): Promise<void> {
  const rivals = await rivalsOf(target, change);
  if (rivals.length > 0) throw taken(rivals.map(({ field }) => ({ scope: `${target.slug}.${field}` })));
}

/** The documents that have the unique values of a change, by the read tables. */
export async function rivalsOf(target: Target, { claims }: Change): Promise<Rival[]> {
  const { model, tables } = target;
  const reach = { tables, fields: model.fields, related: async () => null };
  const rivals: Rival[] = [];
  for (const { scope, value } of claims) {
    const found = await resolvePath(fieldOf(scope), reach);
    const known: unknown = JSON.parse(value);
    if (typeof found === 'string' || (typeof known !== 'string' && typeof known !== 'number')) continue;
    const { steps, leaf } = found;
    const where: Where = { steps, leaf, operator: 'equals', values: [known] };
    const id = partsOfScope(scope).isOfDrafts ? draftWith(target, where) : target.documents.find(where);
    if (id !== null) rivals.push({ field: fieldOf(scope), id });
  }
  return rivals;
}

/** The id of a document whose draft meets a condition; a draft that does not differ is the public document. */
function draftWith({ documents, draftDocuments }: Target, where: Where): string | null {
  const changed = draftDocuments?.find(where) ?? null;
  if (changed !== null) return changed;
  const id = documents.find(where);
  return id === null || draftDocuments?.exists(id) ? null : id;
}
