import type { Collection } from '../../../config/model.ts';
import { type ApiOperation, queryRefusals } from '../../openapi/operation.ts';
import { asOfThen, json, refusalOfAbsent } from '../../openapi/responses.ts';
import { draftViewParameter } from '../../queries/query.ts';
import { idParameter } from '../operations.ts';
import { referenceParameters } from './parameters.ts';

/** `GET /api/collections/<slug>/{id}/references` */
export function referencesOperation(target: Collection, hasDrafts: boolean): ApiOperation {
  const { slug } = target;
  return {
    id: `listReferences_${slug}`,
    tag: slug,
    summary: `List what points at a document of ${slug}`,
    description:
      'Returns the documents and globals whose relationships and uploads point at this one, at any depth, as far as the ' +
      'caller may read them and their fields. Ids in rich text and in JSON are not found.',
    params: idParameter,
    query: { ...referenceParameters, ...(hasDrafts ? draftViewParameter : {}) },
    answers: {
      200: asOfThen(json('A page of references.', 'References')),
      ...queryRefusals(target),
      ...refusalOfAbsent,
    },
    caller: { kind: 'admitted', target, right: 'read' },
  };
}
