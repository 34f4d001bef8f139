import Joi from 'joi';
import type { Collection, Global, Model } from '../../config/model.ts';
import { hasReadHooks } from '../../config/traits.ts';
import { uniqueFields } from '../../events/facts/claims.ts';
import {
  ofCreate,
  ofDelete,
  ofList,
  ofRead,
  ofReadGlobal,
  ofRestore,
  ofRestoreGlobal,
  ofUpdate,
  ofUpdateGlobal,
} from '../openapi/descriptions.ts';
import { sortExample, whereExamples } from '../openapi/examples.ts';
import { schemaRef } from '../openapi/fields.ts';
import {
  type ApiOperation,
  headersOfWrite,
  ifKnown,
  ifMatch,
  type ParameterDescriptions,
  readRefusals,
  writeRefusals,
} from '../openapi/operation.ts';
import {
  asOfThen,
  created,
  document,
  json,
  ofHooks,
  refusalForNow,
  refusalOfAbsent,
  refusalOfOther,
  refusalOfRestore,
  refusalOfStale,
  refusals,
  refusalsForNow,
  refusalsOfThenOrSearch,
  replayable,
  restored,
  unchanged,
} from '../openapi/responses.ts';
import { formOf, isUploadCollection } from '../openapi/uploads.ts';
import { tell } from '../queries/parameters.ts';
import {
  documentParameters,
  draftParameter,
  dryRunParameter,
  listParameters,
  readParameters,
  viewsOf,
} from '../queries/query.ts';

/** The id of a document, in a path. */
export const idParameter = Joi.object({ id: Joi.string().guid().required().description('The id of the document.') });

/** The query of a list: filters and sorts name the fields of the collection. */
function listQueryOf(model: Model, target: Collection): ParameterDescriptions {
  const { where: _, ...others } = listParameters;
  return {
    ...others,
    ...viewsOf(model, target),
    sort: tell(others.sort, { example: sortExample(target) }),
    ...whereQueryOf(target),
  };
}

/** The filter of a collection, as a parameter. */
export function whereQueryOf(target: Collection): ParameterDescriptions {
  const schema = { oneOf: [schemaRef(`collections.${target.slug}.where`), whereText] };
  return {
    where: tell(listParameters.where, { schema, style: 'deepObject', explode: true, examples: whereExamples(target) }),
  };
}

/** For clients that cannot send objects nested deeper than one level. */
const whereText = { type: 'string', description: 'The same filter as JSON.' };

/**
 * The subject of an operation: a document of a collection, which may be missing, or a global.
 */
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

/** The name of the schema that a write is answered with: of a draft, where there are drafts. */
function writtenAs({ kind, slug, drafts }: Collection | Global): string {
  return drafts ? `${kind}s.${slug}.draft` : `${kind}s.${slug}`;
}

/** The query of a write, where there are drafts. */
function draftQueryOf({ drafts }: Collection | Global): Pick<ApiOperation, 'query'> {
  return drafts ? { query: draftParameter } : {};
}

/** `GET /api/collections/<slug>` */
export function listOperation(model: Model, target: Collection): ApiOperation {
  const { slug } = target;
  return {
    id: `list_${slug}`,
    tag: slug,
    summary: `List the documents of ${slug}`,
    description: ofList(model, target),
    query: listQueryOf(model, target),
    answers: {
      200: asOfThen(json('A page of documents.', `collections.${slug}.list`)),
      ...readRefusals(model, target),
      ...(target.schema.admin?.searchFields ? refusalsOfThenOrSearch : {}),
    },
    caller: { kind: 'admitted', target, right: 'read' },
  };
}

/** `GET /api/collections/<slug>/{id}`, `GET /api/globals/<slug>` */
export function readOperation(model: Model, target: Collection | Global): ApiOperation {
  const { named, it } = subjectOf('read', target);
  const answer =
    target.kind === 'global'
      ? document('The global.', `globals.${target.slug}`)
      : document('The document.', `collections.${target.slug}`);
  return {
    ...named,
    summary: `Read ${it}`,
    description: target.kind === 'global' ? ofReadGlobal(model, target) : ofRead(model, target),
    query: { ...(target.kind === 'global' ? readParameters : documentParameters), ...viewsOf(model, target) },
    headers: ifKnown,
    answers: {
      200: asOfThen(answer),
      ...unchanged,
      ...readRefusals(model, target),
      ...(target.kind === 'global' ? {} : refusalOfAbsent),
    },
    caller: { kind: 'admitted', target, right: 'read' },
  };
}

/** `POST /api/collections/<slug>` */
export function createOperation(model: Model, target: Collection): ApiOperation {
  const { slug } = target;
  const isUnique = uniqueFields(target.category, target.schema.fields).length > 0;
  return {
    id: `create_${slug}`,
    tag: slug,
    summary: `Create a document of ${slug}`,
    description: ofCreate(model, target),
    ...draftQueryOf(target),
    headers: headersOfWrite(target),
    ...(isUploadCollection(target) ? { form: formOf(target, 'create') } : { body: `collections.${slug}.create` }),
    answers: {
      201: created(replayable(document('The document, as it was created.', writtenAs(target)))),
      ...refusalOfOther,
      ...writeRefusals(model, target),
      ...(isUnique ? refusals([409]) : {}),
      // Sign-ups are counted if a rule may admit callers without a credential.
      ...(target.auth && target.access.create && model.rateLimit ? refusalsForNow([429]) : {}),
    },
    caller: { kind: 'admitted', target, right: 'create' },
  };
}

/** `PATCH /api/collections/<slug>/{id}`, `PATCH /api/globals/<slug>` */
export function updateOperation(model: Model, target: Collection | Global): ApiOperation {
  const { named, it, missing } = subjectOf('update', target);
  const schema = `${target.kind}s.${target.slug}`;
  return {
    ...named,
    summary: `Change fields of ${it}`,
    description: target.kind === 'global' ? ofUpdateGlobal(model, target) : ofUpdate(model, target),
    ...draftQueryOf(target),
    headers: headersOfWrite(target, { 'If-Match': ifMatch }),
    body: `${schema}.update`,
    ...(target.kind === 'collection' && isUploadCollection(target) ? { form: formOf(target, 'update') } : {}),
    answers: {
      200: replayable(document(target.kind === 'global' ? 'The global.' : 'The document.', writtenAs(target))),
      ...refusalOfStale,
      ...refusalOfOther,
      ...writeRefusals(model, target),
      ...refusals([...missing, 409]),
    },
    caller: { kind: 'admitted', target, right: 'update' },
  };
}

/** `DELETE /api/collections/<slug>/{id}` */
export function deleteOperation(model: Model, target: Collection): ApiOperation {
  const { slug } = target;
  return {
    id: `delete_${slug}`,
    tag: slug,
    summary: `Delete a document of ${slug}`,
    description: ofDelete(model, target),
    params: idParameter,
    ...draftQueryOf(target),
    headers: headersOfWrite(target, { 'If-Match': ifMatch }),
    answers: {
      200: replayable(json('The document as it was before.', writtenAs(target))),
      ...refusalOfStale,
      ...refusalOfOther,
      ...refusals([400, 404, 409, 500]),
      ...refusalForNow,
      ...ofHooks(Boolean(target.hooks.beforeDelete) || hasReadHooks(target)),
    },
    caller: { kind: 'admitted', target, right: 'delete' },
  };
}

/** `POST /api/collections/<slug>/{id}/restore`, `POST /api/globals/<slug>/restore` */
export function restoreOperation(model: Model, target: Collection | Global): ApiOperation {
  const { named, it, missing } = subjectOf('restore', target);
  const isGlobal = target.kind === 'global';
  return {
    ...named,
    summary: `Make ${it} what it was${isGlobal ? '' : ', also one that was deleted'}`,
    description: isGlobal ? ofRestoreGlobal() : ofRestore(target),
    query: target.drafts ? { ...dryRunParameter, ...draftParameter } : dryRunParameter,
    headers: headersOfWrite(target, { 'If-Match': ifMatch }),
    body: 'Restore',
    answers: {
      200: replayable(restored(writtenAs(target))),
      ...refusalOfStale,
      ...refusalOfOther,
      ...writeRefusals(model, target),
      ...refusals([403, ...missing]),
      ...refusalOfRestore,
    },
    caller: { kind: 'admitted', target, right: 'update' },
  };
}
