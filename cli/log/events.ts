import { DomainError, type FieldError } from '../../config/errors.ts';
import { categoryOf } from '../../config/schema.ts';
import { globalStream, serviceStreams } from '../../events/facts/catalogue.ts';
import type { LogReader } from '../../events/log/log-reader.ts';
import { type Names, namesOf } from '../../events/service-events/categories.ts';
import { categories } from '../../projections/tables/audit.ts';
import { epochsOf } from '../../projections/tables/epochs.ts';
import { eventParameters } from '../../server/audit/event-query.ts';
import { eventsThatFit, wantedOf, wantedParameters } from '../../server/audit/exports/filters.ts';
import { positionsOf, range } from '../../server/queries/moments.ts';
import { askedOf, settle } from '../../server/queries/parameters.ts';
import { readSettings } from '../../server/settings/command.ts';
import type { Flags } from '../../server/settings/flags.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { printable, terminalOf } from '../terminal.ts';
import { eventLines, print, reading } from './log.ts';

/** The flags that filter events. */
export const filters = { collection: 'string', stream: 'string', type: 'string', actor: 'string' } satisfies Flags;

/** `annals events`: exit 0 shown, 2 wrong usage, or could not run. */
export async function showEvents(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const known = { ...filters, batch: 'string', from: 'string', to: 'string', json: 'boolean' } satisfies Flags;
  const { settings, flags } = readSettings(args, environment, { settings: ['data'], flags: known });
  const { json, collection, stream, batch, type, actor, from, to } = flags;
  const given = { collection, stream, batch, type, actor, from, to };
  return reading(settings, async (log) => {
    const { size } = log.head();
    const names = namesIn(log);
    const known = { events: log, clock: { believed: Date.now }, names, subjects: () => collectionsIn(log) };
    const asked = askedOf({ ...wantedParameters, batch: eventParameters.batch, ...range }, given, known);
    const found = positionsOf(asked.values, known, asked.errors);
    refuseFlags(asked.errors);
    const { batch, ...rest } = settle(asked);
    const wanted = { ...wantedOf(rest, names), ...(batch === null ? {} : { batch }) };

    const { titles, lineOf } = eventLines(size, json ? null : terminalOf(process.stdout, environment));
    if (titles !== null) await print(titles);
    for await (const texts of eventsThatFit(log, { from: found.from, to: found.to ?? size, filters: wanted })) {
      for (const text of texts) await print(lineOf(text));
    }
    return 0;
  });
}

/** The collections and globals of all schemas of a log, in the order in which they came. */
export function declaredIn(log: LogReader) {
  const schemas = epochsOf(log).map(({ schema }) => schema);
  const collections = schemas.flatMap((schema) => schema.collections);
  return { collections, globals: schemas.flatMap((schema) => schema.globals) };
}

/** The names that the collections of a log have had, and what they are recorded as. */
export function namesIn(log: LogReader): Names {
  return namesOf(declaredIn(log).collections);
}

/** The values of --collection that a log knows. */
function collectionsIn(log: LogReader): string[] {
  const { collections, globals } = declaredIn(log);
  return [
    ...collections.flatMap((one) => [one.slug, categoryOf(one)]),
    ...globals.map(({ slug }) => globalStream(slug)),
    ...collections.flatMap(({ slug, auth }) => (auth ? [`accounts/${slug}`] : [])),
    ...categories,
    ...serviceStreams,
  ];
}

/** Runs a reader of a flag. @throws UsageError if it refuses the value. */
export function ofFlag<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DomainError) throw new UsageError(printable(error.message));
    throw error;
  }
}

function refuseFlags(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  throw new UsageError(errors.map(({ message }) => printable(`--${message}`)).join('\n'));
}
