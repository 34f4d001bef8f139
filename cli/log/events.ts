import { setTimeout } from 'node:timers/promises';
import { DomainError, type FieldError } from '../../config/errors.ts';
import { categoryOf } from '../../config/schema.ts';
import { globalStream, serviceStreams } from '../../events/facts/catalogue.ts';
import { type LogReader, textAt } from '../../events/log/log-reader.ts';
import { type CollectionNames, namesOf } from '../../events/service-events/categories.ts';
import { categories } from '../../projections/tables/audit.ts';
import { epochsOf } from '../../projections/tables/epochs.ts';
import { eventParameters } from '../../server/audit/event-query.ts';
import { eventsThatFit, wantedOf, wantedParameters } from '../../server/audit/exports/filters.ts';
import { positionsOf, range } from '../../server/queries/moments.ts';
import { askedOf, settle } from '../../server/queries/parameters.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { UsageError } from '../../server/settings/settings.ts';
import type { eventsFlags } from '../flags.ts';
import { printable, terminalOf } from '../terminal.ts';
import { eventLines } from './event-lines.ts';
import { print, readCount, reading } from './reading.ts';

/** `annals events`: exit 0 shown, 2 wrong usage, or could not run. */
export async function showEvents(
  { settings, flags }: CommandLine<typeof eventsFlags>,
  environment: NodeJS.ProcessEnv,
): Promise<number> {
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

const followMilliseconds = 200;

/** `annals log tail`: exit 0 shown, 2 could not run. */
export async function tailLog(
  { settings, flags }: CommandLine<{ follow: 'boolean'; n: 'string'; json: 'boolean' }>,
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const count = readCount(flags.n, '-n') ?? 10;
  return reading(settings, async (log) => {
    let { size } = log.head();
    const { titles, lineOf } = eventLines(size, flags.json ? null : terminalOf(process.stdout, environment));
    if (titles !== null) await print(titles);
    for (let at = Math.max(size - count, 0); ; ) {
      for (; at < size; at += 1) await print(lineOf(textAt(log, at + 1)));
      if (!flags.follow) return 0;
      await setTimeout(followMilliseconds);
      ({ size } = log.head());
    }
  });
}

/** The collections and globals of all schemas of a log, in the order in which they came. */
export function declaredIn(log: LogReader) {
  const schemas = epochsOf(log).map(({ schema }) => schema);
  const collections = schemas.flatMap((schema) => schema.collections);
  return { collections, globals: schemas.flatMap((schema) => schema.globals) };
}

/** The names that the collections of a log have had, and what they are recorded as. */
export function namesIn(log: LogReader): CollectionNames {
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
