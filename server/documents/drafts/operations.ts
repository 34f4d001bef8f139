import Joi from 'joi';
import type { Collection, Global, Model } from '../../../config/model.ts';
import { ofDiscard, ofPublish, ofUnpublish } from '../../openapi/draft-descriptions.ts';
import { type ApiOperation, headersOfWrite, ifMatch, writeRefusals } from '../../openapi/operation.ts';
import {
  answerOrTrial,
  document,
  json,
  refusalOfOther,
  refusalOfStale,
  refusals,
  replayable,
} from '../../openapi/responses.ts';
import { dryRunParameter } from '../../queries/query.ts';

const idParameter = Joi.object({ id: Joi.string().guid().required().description('The id of the document.') });

const planned = json('With `at`: the id of the release that will do it.', 'Planned');

function subjectOf(verb: string, target: Collection | Global) {
  const { slug } = target;
  return target.kind === 'global'
    ? { named: { id: `${verb}Global_${slug}`, tag: 'globals' }, it: `the global ${slug}`, missing: [] }
    : {
        named: { id: `${verb}_${slug}`, tag: slug, params: idParameter },
        it: `a document of ${slug}`,
        missing: [404 as const],
      };
}

/** `POST /api/collections/<slug>/{id}/publish`, `POST /api/globals/<slug>/publish` */
export function publishOperation(model: Model, target: Collection | Global): ApiOperation {
  const { named, it, missing } = subjectOf('publish', target);
  return {
    ...named,
    summary: `Publish the draft of ${it}`,
    description: ofPublish(),
    query: dryRunParameter,
    headers: headersOfWrite(target, { 'If-Match': ifMatch }),
    body: `${target.kind}s.${target.slug}.publish`,
    isBodyOptional: true,
    answers: {
      202: replayable(planned),
      200: replayable(
        answerOrTrial('The public document, with its `ETag`; with `dryRun`, what the publication would change.', [
          `${target.kind}s.${target.slug}`,
          'PublishDryRun',
        ]),
      ),
      ...refusalOfStale,
      ...refusalOfOther,
      ...writeRefusals(model, target),
      ...refusals([...missing, 409]),
    },
    caller: { kind: 'admitted', target, right: 'publish' },
  };
}

/** `POST /api/collections/<slug>/{id}/unpublish` */
export function unpublishOperation(model: Model, target: Collection): ApiOperation {
  const { named, it, missing } = subjectOf('unpublish', target);
  return {
    ...named,
    summary: `Take ${it} out of what is public`,
    description: ofUnpublish(),
    headers: headersOfWrite(target, { 'If-Match': ifMatch }),
    body: 'Plan',
    isBodyOptional: true,
    answers: {
      202: replayable(planned),
      200: replayable(document('The draft.', `collections.${target.slug}.draft`)),
      ...refusalOfStale,
      ...refusalOfOther,
      ...writeRefusals(model, target),
      ...refusals(missing),
      409: json('The document is not public, or other writers keep changing it.', 'Error'),
    },
    caller: { kind: 'admitted', target, right: 'publish' },
  };
}

/** `POST /api/collections/<slug>/{id}/discard`, `POST /api/globals/<slug>/discard` */
export function discardOperation(model: Model, target: Collection | Global): ApiOperation {
  const { named, it, missing } = subjectOf('discard', target);
  return {
    ...named,
    summary: `Discard the draft of ${it}`,
    description: ofDiscard(target),
    headers: headersOfWrite(target, { 'If-Match': ifMatch }),
    answers: {
      200: replayable(document('The draft, which is now what is public.', `${target.kind}s.${target.slug}.draft`)),
      ...refusalOfStale,
      ...refusalOfOther,
      ...writeRefusals(model, target),
      ...refusals([...missing, 403]),
      409: json(
        'The document was never public, a unique value is taken, or other writers keep changing the document.',
        'Error',
      ),
    },
    caller: { kind: 'admitted', target, right: 'readDrafts' },
  };
}
