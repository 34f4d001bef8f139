import type { Request, ResponseObject } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import type { Collection, Global } from '../../../config/model.ts';
import type { Category } from '../../../config/schema.ts';
import { documentStream } from '../../../events/facts/catalogue.ts';
import { auditRightsOf, requireAudit } from '../../access/rights.ts';
import type { App } from '../../app.ts';
import { unstored } from '../../callers/vary.ts';
import { type AsOf, actorOf, asOfFor, type ReadScope } from '../../http/requests.ts';
import { readMoment, whenReadable } from '../../queries/moments.ts';
import { pastOf } from './versions.ts';

type Subject = { model: Collection | Global; slug: string; category: Category };

/**
 * Makes a request with `asOf` look back: from here on it reads at that position. The caller needs the audit scope
 * `payloads`, or only the right to read if the collection has a public history.
 *
 * @throws DomainError `unauthorized` or `forbidden` without the right; `validation_failed` if `asOf` does not name a
 * moment.
 */
export function readAsOf(app: App, request: Request, target: Subject): Promise<AsOf | null> {
  return readAsOfAny(app, request, [target]);
}

/** As {@link readAsOf}, for several targets: refused only if the caller may look back at none of them. */
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
    // No rule of today shows a deleted document.
    if (right === 'byRules') return 'living';
    return model.kind === 'collection' && model.hasPublicHistory ? 'living' : null;
  };
}

/**
 * As {@link readAsOf}, for schemas, which are not documents: the audit scope `headers` is enough.
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
 * The position that an `asOf` names: the number itself, or the position of the last event recorded until a time; 0
 * before the first.
 *
 * @throws DomainError `validation_failed` if `asOf` names no moment; `unavailable` if the read tables do not reach the
 * position.
 */
async function readPosition(app: App, asOf: unknown): Promise<number> {
  const position = readMoment(asOf, 'asOf', app);
  await whenReadable(app, position);
  return position;
}

/**
 * Adds the position that an answer is as of, or that a preview is made of, which no cache may keep; nothing to an
 * answer of today.
 */
export function tellPosition(request: Request, response: ResponseObject): ResponseObject {
  const { ahead } = request.app;
  if (ahead) return unstored(response).header('annals-position', String(ahead.position));
  const moment = asOfFor(request);
  return moment ? response.header('annals-position', String(moment.position)) : response;
}
