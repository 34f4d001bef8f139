import { type FieldError, inQuery } from '../../../config/errors.ts';
import { show } from '../../../config/suggest.ts';
import { auditStream } from '../../../events/facts/catalogue.ts';
import { changeOf } from '../../../events/facts/log.ts';
import type { LogReader } from '../../../events/log/log-reader.ts';
import { noteAudit } from '../../access/admission.ts';
import type { RouteCall } from '../../app.ts';
import { appendOf } from '../../callers/append.ts';
import { actorOf, contextOf, requestId } from '../../http/requests.ts';
import { positionsOf, range } from '../../queries/moments.ts';
import { askedOf, count, flag, oneOf, type Parameter, type Query, refuse, settle } from '../../queries/parameters.ts';
import { type AuditQueryContext, knownTo } from '../event-query.ts';
import { positionsThatFit, type Range, wantedOf, wantedParameters } from './filters.ts';
import { exportFormats } from './formats.ts';

/** How often `since` may be given. */
const maxSince = 32;
const size = count({ least: 1 }, 'The size of a checkpoint.');

/** The sizes of the checkpoints that a caller has kept. */
const since: Parameter<number[]> = {
  told: {
    description: 'Sizes of checkpoints kept earlier: the response proves that the log extends them.',
    style: 'form',
    explode: true,
    schema: { type: 'array', items: size.told.schema, maxItems: maxSince },
  },
  read: readSince,
};

/** The query of an export. */
export const exportParameters = {
  ...range,
  format: oneOf(exportFormats, 'ndjson', 'The form of the events in the archive.'),
  ...wantedParameters,
  since,
};

/** The query of a bundle. */
export const bundleParameters = {
  files: flag(true, 'False leaves the uploaded files out.'),
  complete: flag(false, 'True proves that there was no later version, however many events came after the last one.'),
  since,
};

/**
 * Reads the query of an export; `to` is null for the end of the log. @throws DomainError `validation_failed` naming
 * every wrong parameter.
 */
export function readExportQuery(app: AuditQueryContext, query: Query) {
  const known = { ...knownTo(app), events: app.events };
  const asked = askedOf(exportParameters, query, known);
  const { from, to } = positionsOf(asked.values, known, asked.errors);
  const { format, since, from: _from, to: _to, ...wanted } = settle(asked);
  return { format, filters: wantedOf(wanted, app.names), from, to, since };
}

function readSince(value: unknown): number[] {
  const given = value === undefined ? [] : Array.isArray(value) ? value : [value];
  const errors: FieldError[] = [];
  if (given.length > maxSince) {
    errors.push({
      ...inQuery('since', 'max_items', { limit: maxSince }),
      message: `since may be given ${maxSince} times, got ${given.length}`,
    });
  }
  const sizes = given.slice(0, maxSince).map((text) => {
    const size = Number(text);
    if (/^\d+$/.test(String(text)) && size >= 1 && Number.isSafeInteger(size)) return size;
    const message = `since must be the size of an earlier checkpoint, a whole number from 1, got ${show(text)}`;
    errors.push({ ...inQuery('since', 'format'), message });
    return 0;
  });
  refuse(errors);
  return sizes;
}

/**
 * Checks the sizes of kept checkpoints once it is known how large the log is. @throws DomainError `validation_failed`
 * for larger ones.
 */
export function requireWithin(sizes: readonly number[], size: number): void {
  const beyond = sizes.filter((kept) => kept > size);
  refuse(
    beyond.map((one) => ({
      ...inQuery('since', 'out_of_range', { limit: size }),
      message:
        `since must be at most ${size}, the size of the log, got ${one}: a checkpoint of that size is ` +
        'proof that the log has lost events',
    })),
  );
}

/** How many events of a range fit. */
export async function countOf(log: LogReader, { from, to, filters }: Range): Promise<number> {
  if (Object.keys(filters).length === 0) return to - from + 1;
  let count = 0;
  for await (const positions of positionsThatFit(log, { from, to, filters })) count += positions.length;
  return count;
}

/** Records an export of events, or an evidence pack; resolves when that is durable. */
export async function recordExport(
  { app, request }: RouteCall,
  { filters, ...data }: Range & { format: string; events: number },
): Promise<void> {
  noteAudit(request, app.model.audit);
  const append = appendOf(app, request);
  const outcome = await append({
    ...changeOf(auditStream, [
      { type: 'log.exported', data: { ...data, ...(Object.keys(filters).length > 0 && { filters: { ...filters } }) } },
    ]),
    actor: actorOf(request),
    correlationId: requestId(request),
    context: contextOf(request),
  });
  if (!outcome.ok) throw new Error('an export cannot be in conflict with anything');
}
