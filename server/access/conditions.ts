import type { Where } from '../../projections/query/where.ts';
import type { App, Target } from '../app.ts';
import type { SearchReach } from '../queries/paths.ts';
import { readWhereObject } from '../queries/where.ts';

/**
 * Reads the condition that a rule of a target returns. It may name every field, as the author wrote it.
 *
 * @throws DomainError `validation_failed`.
 */
export function readCondition(app: Pick<App, 'collections'>, target: Target, condition: object): Promise<Where> {
  return readWhereObject(condition, authorsReach(app, target));
}

function authorsReach(app: Pick<App, 'collections'>, { tables, model }: Target): SearchReach {
  return {
    tables,
    fields: model.fields,
    related: async (slug) => {
      const other = app.collections.get(slug);
      return other ? { reach: authorsReach(app, other), filter: null } : null;
    },
  };
}
