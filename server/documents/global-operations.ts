import type { Global, Model } from '../../config/model.ts';
import { ofReadGlobal, ofRestoreGlobal, ofUpdateGlobal } from '../openapi/descriptions.ts';
import { globalExample } from '../openapi/examples.ts';
import { headersOfWrite, ifKnown, ifMatch, type Operation, readRefusals, writeRefusals } from '../openapi/operation.ts';
import {
  asOfThen,
  attempted,
  document,
  refusalOfOther,
  refusalOfRestore,
  refusalOfStale,
  refusals,
  restored,
  unchanged,
  withExample,
} from '../openapi/responses.ts';
import { dryRunParameter, readParameters } from '../queries/query.ts';

/** `GET /api/globals/<slug>` */
export function readGlobalOperation(model: Model, target: Global): Operation {
  const { slug } = target;
  return {
    id: `readGlobal_${slug}`,
    tag: 'globals',
    summary: `Read the global ${slug}`,
    description: ofReadGlobal(model, target),
    query: readParameters,
    headers: ifKnown,
    answers: {
      200: asOfThen(withExample(document('The global.', `globals.${slug}`), globalExample(target.fields))),
      ...unchanged(),
      ...readRefusals(model, target),
    },
    caller: { kind: 'admitted', target, right: 'read' },
  };
}

/** `PATCH /api/globals/<slug>` */
export function updateGlobalOperation(model: Model, target: Global): Operation {
  const { slug } = target;
  return {
    id: `updateGlobal_${slug}`,
    tag: 'globals',
    summary: `Change fields of the global ${slug}`,
    description: ofUpdateGlobal(model, target),
    headers: headersOfWrite(target, { 'If-Match': ifMatch }),
    body: `globals.${slug}.update`,
    answers: {
      200: attempted(document('The whole global.', `globals.${slug}`)),
      ...refusalOfStale(),
      ...refusalOfOther(),
      ...writeRefusals(target),
      ...refusals([409]),
    },
    caller: { kind: 'admitted', target, right: 'update' },
  };
}

/** `POST /api/globals/<slug>/restore` */
export function restoreGlobalOperation(target: Global): Operation {
  const { slug } = target;
  return {
    id: `restoreGlobal_${slug}`,
    tag: 'globals',
    summary: `Make the global ${slug} what it was`,
    description: ofRestoreGlobal(),
    query: dryRunParameter,
    headers: headersOfWrite(target, { 'If-Match': ifMatch }),
    body: 'Restore',
    answers: {
      200: attempted(restored(`globals.${slug}`)),
      ...refusalOfStale(),
      ...refusalOfOther(),
      ...writeRefusals(target),
      ...refusals([403]),
      ...refusalOfRestore(),
    },
    caller: { kind: 'admitted', target, right: 'update' },
  };
}
