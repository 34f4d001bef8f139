import type { Request } from '@hapi/hapi';
import type { FieldError } from '../../../config/errors.ts';
import { didYouMean, show, showAll } from '../../../config/suggest.ts';
import { auditStream } from '../../../events/catalogue.ts';
import type { LogReader } from '../../../events/log-reader.ts';
import { noteAudit } from '../../access/admission.ts';
import type { App } from '../../app.ts';
import { appendOf } from '../../callers/append.ts';
import { actorOf, contextOf, requestId } from '../../http/requests.ts';
import { readRange } from '../../queries/moments.ts';
import { refuse, unknownParameters } from '../../queries/query.ts';
import { collectionsOf } from '../event-query.ts';
import { type Filters, filterNames, positionsThatFit, readFilters } from './filters.ts';
import { type ExportFormat, writers } from './formats.ts';

type Query = Record<string, unknown>;

/** What an export was asked for; what of it depends on how long the log is, is read when that is known. */
export type ExportQuery = {
  format: ExportFormat;
  filters: Filters;
  resolve: (size: number) => { from: number; to: number; since: number[] };
};

/** @throws DomainError `invalid` naming every wrong parameter; so does `resolve`. */
export function readExportQuery(app: App, query: Query): ExportQuery {
  const errors = unknownParameters(query, ['from', 'to', 'format', ...filterNames, 'since']);
  const { from, to } = readRange(query, app, errors);
  const format = readFormat(query.format, errors);
  const filters = readFilters(app.events, () => collectionsOf(app), query, errors);
  const sinceWithin = readSince(query.since, errors);
  refuse(errors);
  return {
    format,
    filters,
    resolve: (size) => ({ from, to: to ?? size, since: sinceWithin(size) }),
  };
}

function isFormat(value: unknown): value is ExportFormat {
  return typeof value === 'string' && Object.hasOwn(writers, value);
}

function readFormat(value: unknown, errors: FieldError[]): ExportFormat {
  const formats = Object.keys(writers);
  if (value === undefined) return 'ndjson';
  if (isFormat(value)) return value;
  const message = `format must be one of ${showAll(formats)}, got ${show(value)}${didYouMean(value, formats)}`;
  errors.push({ field: 'format', message });
  return 'ndjson';
}

/** What a bundle was asked for. */
export type BundleQuery = {
  withFiles: boolean;
  isComplete: boolean;
  sinceWithin: (size: number) => number[];
};

/** @throws DomainError `invalid` naming every wrong parameter; so does `sinceWithin`. */
export function readBundleQuery(query: Query): BundleQuery {
  const errors = unknownParameters(query, ['files', 'complete', 'since']);
  const withFiles = readFlag(query, 'files', true, errors);
  const isComplete = readFlag(query, 'complete', false, errors);
  const sinceWithin = readSince(query.since, errors);
  refuse(errors);
  return {
    withFiles,
    isComplete,
    sinceWithin,
  };
}

function readFlag(query: Query, name: string, fallback: boolean, errors: FieldError[]): boolean {
  const value = query[name];
  if (value === undefined) return fallback;
  if (value === 'true' || value === 'false') return value === 'true';
  const words = ['true', 'false'];
  errors.push({ field: name, message: `${name} must be true or false, got ${show(value)}${didYouMean(value, words)}` });
  return fallback;
}

const maxSince = 32;

/** The sizes of the checkpoints that a caller has kept, once it is known how large the log is: none may be larger. */
function readSince(value: unknown, errors: FieldError[]): (size: number) => number[] {
  const given = value === undefined ? [] : Array.isArray(value) ? value : [value];
  if (given.length > maxSince) {
    errors.push({ field: 'since', message: `since may be given ${maxSince} times, got ${given.length}` });
  }
  const sizes = given.slice(0, maxSince).map((text) => {
    const size = Number(text);
    if (/^\d+$/.test(String(text)) && size >= 1 && Number.isSafeInteger(size)) return size;
    const message = `since must be the size of an earlier checkpoint, a whole number from 1, got ${show(text)}`;
    errors.push({ field: 'since', message });
    return 0;
  });
  return (size) => within(sizes, size);
}

function within(sizes: number[], size: number): number[] {
  const beyond = sizes.filter((kept) => kept > size);
  refuse(
    beyond.map((one) => ({
      field: 'since',
      message:
        `since must be at most ${size}, the size of the log, got ${one}: who has kept a checkpoint of that size has ` +
        'proof that the log has lost events',
    })),
  );
  return sizes;
}

type Range = { from: number; to: number; filters: Filters };

/** How many events of a range fit. */
export async function countOf(log: LogReader, { from, to, filters }: Range): Promise<number> {
  if (Object.keys(filters).length === 0) return to - from + 1;
  let count = 0;
  for await (const positions of positionsThatFit(log, from, to, filters)) count += positions.length;
  return count;
}

/** Puts on record that somebody takes events out; resolves when it is durable. */
export async function recordExport(
  app: App,
  request: Request,
  { filters, ...data }: Range & { format: string; events: number },
): Promise<void> {
  noteAudit(request, app.model.audit);
  const append = appendOf(app, request);
  const outcome = await append({
    stream: auditStream,
    expectedVersion: null,
    events: [
      { type: 'log.exported', data: { ...data, ...(Object.keys(filters).length > 0 && { filters: { ...filters } }) } },
    ],
    claims: [],
    releases: [],
    actor: actorOf(request),
    correlationId: requestId(request),
    context: contextOf(request),
  });
  if (!outcome.ok) throw new Error('an export cannot be in conflict with anything');
}
