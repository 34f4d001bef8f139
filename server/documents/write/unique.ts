import type { Change } from '../../../events/facts/log.ts';
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
export async function rivalsOf({ model, tables, documents }: Target, { claims }: Change): Promise<Rival[]> {
  const reach = { tables, fields: model.fields, related: async () => null };
  const rivals: Rival[] = [];
  for (const { scope, value } of claims) {
    const found = await resolvePath(fieldOf(scope), reach);
    const known: unknown = JSON.parse(value);
    if (typeof found === 'string' || (typeof known !== 'string' && typeof known !== 'number')) continue;
    const { steps, leaf } = found;
    const id = documents.find({ steps, leaf, operator: 'equals', values: [known] });
    if (id !== null) rivals.push({ field: fieldOf(scope), id });
  }
  return rivals;
}
