import type { Collection } from '../../../config/model.ts';
import { type ApiOperation, queryRefusals } from '../../openapi/operation.ts';
import { asOfThen, json, refusalOfAbsent } from '../../openapi/responses.ts';
import { idParameter } from '../operations.ts';
import { referenceParameters } from './parameters.ts';

/** `GET /api/collections/<slug>/{id}/references` */
export function referencesOperation(target: Collection): ApiOperation {
  const { slug } = target;
  return {
    id: `listReferences_${slug}`,
    tag: slug,
    summary: `List what points at a document of ${slug}`,
    description:
      'Returns the documents and globals that point at this one through a relationship or an upload, at any depth of their ' +
      'fields. The list has only documents and globals that the caller may read, and only fields that the caller may read in ' +
      'them. `field` is the path of the field, without the indexes of lists; a document that points here by two fields is ' +
      'listed twice. Ids in rich text and in JSON are not found.',
    params: idParameter,
    query: referenceParameters,
    answers: {
      200: asOfThen(json('A page of references.', 'References')),
      ...queryRefusals(target),
      ...refusalOfAbsent,
    },
    caller: { kind: 'admitted', target, right: 'read' },
  };
}
