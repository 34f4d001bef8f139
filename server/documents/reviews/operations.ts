import type { Collection, Global, Model } from '../../../config/model.ts';
import { type ApiOperation, headersOfWrite, ifMatch, queryRefusals, writeRefusals } from '../../openapi/operation.ts';
import { document, json, refusalOfOther, refusalOfStale, refusals, replayable } from '../../openapi/responses.ts';
import { ofRefuseReview, ofRequestReview, ofReviews, ofWithdrawReview } from '../../openapi/review-components.ts';
import { pageParameters } from '../../queries/pages.ts';
import { idParameter } from '../operations.ts';

type Words = { verb: string; summary: string; description: string; body: string | null };

/** `POST …/{id}/review` */
export function requestReviewOperation(model: Model, target: Collection | Global): ApiOperation {
  const description = ofRequestReview(target);
  const words = { verb: 'requestReview', summary: 'Request a review of', description, body: 'ReviewRequest' };
  return { ...ofReview(model, target, words), caller: { kind: 'admitted', target, right: 'readDrafts' } };
}

/** `DELETE …/{id}/review` */
export function withdrawReviewOperation(model: Model, target: Collection | Global): ApiOperation {
  const words = { verb: 'withdrawReview', summary: 'Withdraw the request for review of', body: null };
  const operation = ofReview(model, target, { ...words, description: ofWithdrawReview });
  return { ...operation, caller: { kind: 'admitted', target, right: 'readDrafts' } };
}

/** `POST …/{id}/review/refuse` */
export function refuseReviewOperation(model: Model, target: Collection | Global): ApiOperation {
  const words = { verb: 'refuseReview', summary: 'Refuse the reviewed draft of', body: 'ReviewRefusal' };
  const operation = ofReview(model, target, { ...words, description: ofRefuseReview });
  return { ...operation, caller: { kind: 'admitted', target, right: 'publish' } };
}

function ofReview(
  model: Model,
  target: Collection | Global,
  { verb, summary, description, body }: Words,
): Omit<ApiOperation, 'caller'> {
  const { slug, kind } = target;
  const isGlobal = kind === 'global';
  return {
    ...(isGlobal
      ? { id: `${verb}Global_${slug}`, tag: 'globals' }
      : { id: `${verb}_${slug}`, tag: slug, params: idParameter }),
    summary: `${summary} ${isGlobal ? `the global ${slug}` : `a document of ${slug}`}`,
    description,
    headers: headersOfWrite({ ...target, requiresReason: false } as Collection | Global, { 'If-Match': ifMatch }),
    ...(body === null ? {} : { body, isBodyOptional: body === 'ReviewRequest' }),
    answers: {
      200: replayable(document('The draft, with `__review`.', `${kind}s.${slug}.draft`)),
      ...refusalOfStale,
      ...refusalOfOther,
      ...writeRefusals(model, target),
      ...refusals([403, 409, ...(isGlobal ? [] : [404 as const])]),
    },
  };
}

/** `GET /api/reviews` */
export function listReviewsOperation({ collections, globals }: Model): ApiOperation {
  const targets = [...collections.values(), ...globals.values()];
  return {
    id: 'listReviews',
    tag: 'system',
    summary: 'List the open requests for review',
    description: ofReviews,
    query: pageParameters,
    answers: { 200: json('A page of requests for review.', 'Reviews'), ...queryRefusals(...targets) },
    caller: { kind: 'known', orAnybody: false },
  };
}
