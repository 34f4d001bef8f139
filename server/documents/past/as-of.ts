import type { Request, ResponseObject } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import type { Collection, Global } from '../../../config/model.ts';
import type { Category } from '../../../config/schema.ts';
import { documentStream } from '../../../events/facts/catalogue.ts';
import { auditRightsOf, requireAudit } from '../../access/rights.ts';
import type { App } from '../../app.ts';
import { type AsOf, actorOf, asOfFor, type ReadScope } from '../../http/requests.ts';
import { readMoment, whenReadable } from '../../queries/moments.ts';
import { pastOf } from './versions.ts';

type Subject = { model: Collection | Global; slug: string; category: Category };

/**
 * Makes a request with `asOf` look back: from here on it reads as of then. The right comes from the audit scope
 * `payloads`, or in a collection with public history from reading alone.
 *
 * @throws DomainError `unauthorized` or `forbidden` without the right; `invalid` when `asOf` does not name a moment.
 */
export function readAsOf(app: App, request: Request, target: Subject): Promise<AsOf | null> {
  return readAsOfAny(app, request, [target]);
}

/** As {@link readAsOf}, for several targets, of which the request may look back to some. */
export async function readAsOfAny(app: App, request: Request, targets: readonly Subject[]): Promise<AsOf | null> {
  const { asOf } = request.query;
  if (asOf === undefined) return null;
  const scopeFor = await scopesOf(app, request);
  const [first] = targets;
  if (first && targets.every((target) => scopeFor(target) === null)) throw refusal(request, first);
  const position = await readPosition(app, asOf);
  const fold = request.query.proven === 'true' ? foldOf(app, position) : null;
  const moment = { position, scopeFor, fold };
  request.app.asOf = moment;
  return moment;
}

function foldOf(app: App, position: number): AsOf['fold'] {
  return async (stream) => {
    const past = await pastOf(app, stream, { position });
    return past?.document ? { document: past.document, version: past.version } : null;
  };
}

async function scopesOf(app: App, request: Request): Promise<AsOf['scopeFor']> {
  const rights = await auditRightsOf(app, request);
  return ({ model, slug, category }: Subject): ReadScope | null => {
    const stream = documentStream(category, model.kind === 'global' ? slug : '');
    const right = rights.toPayloadsOf(stream);
    if (right === 'all') return 'every';
    // No rule of today shows a document that is gone.
    if (right === 'byRules') return 'living';
    return model.kind === 'collection' && model.hasPublicHistory ? 'living' : null;
  };
}

/**
 * As {@link readAsOf}, for what is not a document: the scope `headers` is enough, and null is of today.
 *
 * @throws DomainError as it does.
 */
export async function readSchemasAsOf(app: App, request: Request): Promise<AsOf | null> {
  const { asOf } = request.query;
  if (asOf === undefined) return null;
  await requireAudit(app, request, 'headers');
  const moment: AsOf = { position: await readPosition(app, asOf), scopeFor: () => null, fold: null };
  request.app.asOf = moment;
  return moment;
}

function refusal(request: Request, { slug }: Subject): DomainError {
  const { type } = actorOf(request);
  if (type === 'anonymous') {
    return new DomainError('unauthorized', `an API key or a token is needed to read ${slug} as of a moment`);
  }
  return new DomainError('forbidden', `you may not read ${slug} as of a moment: the audit scope payloads is needed`);
}

/**
 * The position that an `asOf` names: itself, or that of the last event recorded until a time; 0 before the first.
 *
 * @throws DomainError `invalid` when it names none; `unavailable` when the read tables do not come up to it.
 */
async function readPosition(app: App, asOf: unknown): Promise<number> {
  const position = readMoment(asOf, 'asOf', app);
  await whenReadable(app, position);
  return position;
}

/** Says in an answer as of which position it is; in one of today nothing. */
export function tellPosition(request: Request, response: ResponseObject): ResponseObject {
  const moment = asOfFor(request);
  return moment ? response.header('annals-position', String(moment.position)) : response;
}
