import type { Request } from '@hapi/hapi';
import Joi from 'joi';
import { compileBody } from '../../config/documents.ts';
import { reasonText } from '../../config/erasures.ts';
import { DomainError, invalidField } from '../../config/errors.ts';
import { objectSchema } from '../../config/fields.ts';
import { show } from '../../config/suggest.ts';
import { filesNamedIn } from '../../events/blobs.ts';
import type { Header } from '../../events/envelope.ts';
import { decideLosses, type FileAt, fileKey, lossesOf } from '../../events/losses.ts';
import type { App } from '../app.ts';
import { appendOf } from '../overload.ts';
import { actorOf, contextOf, requestId } from '../requests.ts';

/** Files to be looked for in a store, and why they may be lost. `store`: which store, as `storeName` has it. */
export type Suspects = { store: string; files: FileAt[]; reason: string };

/** At most as many files go in one call: a slow bucket has to answer for all of them before the caller gives up. */
export const maxSuspects = 200;

/** What was recorded: how many are lost, how many are there again. */
export type Recorded = { lost: number; found: number };

/**
 * Looks for files in the store, and puts on record those that are not there and of which the log does not say so yet, and those of
 * which it does and that are there. What an event says has been seen by who appends it, whatever it was told.
 *
 * @throws DomainError `conflict` where another store is meant, `invalid` for what names no file.
 */
export async function recordLosses(app: App, request: Request, { store, files, reason }: Suspects): Promise<Recorded> {
  if (store !== app.store)
    throw new DomainError('conflict', `the service keeps its files in ${app.store}, not in ${store}`);
  const named = files.map((file, index) => ({ file, sha256: namedBy(app, file, index) }));
  const known = lossesOf(app.events);
  const lost: FileAt[] = [];
  const found: FileAt[] = [];
  for (const { file, sha256 } of named) {
    const isKnown = known.has(fileKey(file));
    const isThere = (await app.blobs.size(sha256)) !== null;
    if (isThere && isKnown) found.push(file);
    if (!isThere && !isKnown) lost.push(file);
  }
  const change = decideLosses(lost, found);
  if (change) {
    const outcome = await appendOf(
      app,
      request,
    )({
      ...change,
      actor: actorOf(request),
      correlationId: requestId(request),
      context: { ...contextOf(request), reason },
    });
    if (!outcome.ok) throw new Error('what became of a file cannot be in conflict with anything');
  }
  return { lost: lost.length, found: found.length };
}

/** The SHA-256 of the file that a version names. */
function namedBy({ events }: App, { stream, version }: FileAt, index: number): string {
  const [position = 0] = events.positionsOf(stream, version - 1, version);
  const [event] = position === 0 ? [] : events.texts(position - 1, position);
  const header = event && (JSON.parse(event.header) as Header);
  const [sha256] = header && event.body !== null ? filesNamedIn(header, event.body) : [];
  if (sha256 !== undefined) return sha256;
  throw invalidField(`files.${index}`, `must be a version that names a file, got ${show(`${stream} ${version}`)}`);
}

const suspectsBody = compileBody(
  objectSchema(
    [],
    'create',
    {
      store: Joi.string().required(),
      reason: reasonText,
      files: Joi.array()
        .items(
          Joi.object({ stream: Joi.string().required(), version: Joi.number().strict().integer().min(1).required() }),
        )
        .max(maxSuspects)
        .required(),
    },
    ['store', 'reason', 'files'],
  ),
);

/** Reads what a command sends. @throws InvalidBody with every wrong member. */
export function readSuspects(body: unknown): Suspects {
  return suspectsBody(body) as Suspects;
}
