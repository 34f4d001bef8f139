import type { Json } from '../../config/schema.ts';
import { readJson } from '../../server/queries/field-texts.ts';
import { loadConfiguration } from '../../server/settings/configuration.ts';
import type { Settings } from '../../server/settings/settings.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { problemsIn } from '../operator-connection.ts';
import { printable } from '../terminal.ts';
import { requireUnchanged } from './import.ts';
import { onService } from './service.ts';

/** A filter as lists take it, in JSON. */
type Filter = { slug: string; where: string; position: number };

const pageSize = 100;

/**
 * The ids of the documents that met a filter at a position. The service answers that, as for lists: the running one,
 * else one that this command runs.
 *
 * @throws UsageError if the filter is not one, or the configuration is not the one that the log ends with.
 */
export async function idsOf(settings: Settings, { slug, where, position }: Filter): Promise<Set<string>> {
  const condition = readJson(where);
  if (condition === undefined) throw new UsageError(`--where must be JSON, for example {"status":{"equals":"draft"}}`);
  const loaded = await loadConfiguration(settings.config);
  const ids = new Set<string>();
  await onService(
    { settings, loaded },
    async ({ ask }) => {
      for (let last: string | null = null, isMore = true; isMore; ) {
        const asked: Json = last === null ? condition : { and: [condition, { id: { greater_than: last } }] };
        const query = new URLSearchParams({
          where: JSON.stringify(asked),
          sort: 'id',
          limit: String(pageSize),
          asOf: String(position),
        });
        const { status, body } = await ask({ method: 'GET', path: `/api/collections/${slug}?${query}` });
        if (status !== 200)
          throw new UsageError(
            problemsIn(body)
              .map((line) => `--${printable(line)}`)
              .join('\n'),
          );
        const docs = Array.isArray(body.docs) ? (body.docs as { id: string }[]) : [];
        for (const { id } of docs) ids.add(id);
        last = docs.at(-1)?.id ?? null;
        isMore = docs.length === pageSize;
      }
    },
    () => requireUnchanged(loaded, settings),
  );
  return ids;
}
