import type { Json } from '../../config/schema.ts';
import { mergePatch } from '../http/media-types.ts';
import { type ApiSchema, schemaRef } from './fields.ts';
import type { ApiOperation } from './operation.ts';
import type { DescribedAnswers } from './responses.ts';

type Parameter = { name: string; in: string; schema: ApiSchema; [key: string]: Json };

type OperationDraft = { operationId: string; parameters?: Parameter[]; requestBody?: ApiSchema; responses: ApiSchema };

/** The document as hapi-swagger generates it; only the parts that are changed here. */
export type GeneratedDocument = {
  openapi: string;
  info: ApiSchema;
  servers: { url: string }[];
  tags: ApiSchema[];
  paths: { [path: string]: { [method: string]: OperationDraft } };
  components: { schemas: Record<string, ApiSchema> };
};

/** The parts of the document that hapi-swagger does not know. */
type DescribedParts = {
  /** The operations of the routes, by id: the source of query parameters, bodies and answers. */
  operations: ReadonlyMap<string, ApiOperation>;
  /** All schemas of the document: they take the place of those that joi has no words for. */
  schemas: Record<string, ApiSchema>;
  basePath: string;
};

/** Fills the gaps of hapi-swagger; docs/dependencies.md has the reasons. */
export function mend(draft: GeneratedDocument, { operations, schemas, basePath }: DescribedParts): GeneratedDocument {
  for (const path of Object.values(draft.paths)) {
    for (const operation of Object.values(path)) {
      const told = operations.get(operation.operationId);
      if (!told) throw new Error(`hapi-swagger made an operation of its own: ${operation.operationId}`);
      const parameters = [...(operation.parameters ?? []).map(mendParameter), ...queryOf(told)];
      if (parameters.length > 0) operation.parameters = parameters;
      if (told.body || told.form) operation.requestBody = { content: bodiesOf(told), required: !told.isBodyOptional };
      operation.responses = responsesOf(told.answers);
    }
  }
  return {
    // 3.0.3 says what `nullable` means beside `enum` and without `type`, which 3.0.0 left open.
    openapi: '3.0.3',
    info: draft.info,
    // Only the path, so that the document works under every name that the service is reached by.
    servers: [{ url: basePath }],
    tags: draft.tags,
    // A parameter that takes several segments of a path has no other name here.
    paths: Object.fromEntries(Object.entries(draft.paths).map(([path, methods]) => [path.replace('*}', '}'), methods])),
    components: { ...draft.components, schemas },
  };
}

function bodiesOf({ body, form, isMerge }: ApiOperation): ApiSchema {
  return {
    ...(body ? { 'application/json': { schema: schemaRef(body) } } : {}),
    ...(body && isMerge ? { [mergePatch]: { schema: schemaRef(body) } } : {}),
    ...(form ? { 'multipart/form-data': { schema: schemaRef(form.schema), encoding: form.encoding } } : {}),
  };
}

function responsesOf(answers: DescribedAnswers): ApiSchema {
  const responses = Object.entries(answers).map(([status, { schema, type, others = {}, ...rest }]) => {
    const bodies = schema ? { [type ?? 'application/json']: schema, ...others } : {};
    const content = Object.entries(bodies).map(([name, body]) => [name, { schema: body }] as const);
    return [status, { ...rest, ...(schema ? { content: Object.fromEntries(content) } : {}) }] as const;
  });
  return Object.fromEntries(responses);
}

function mendParameter({ schema, ...parameter }: Parameter): Parameter {
  const { 'x-format': format, description: _, ...rest } = schema;
  return { ...parameter, schema: format ? { ...rest, format: 'uuid' } : rest };
}

function queryOf({ query = {} }: ApiOperation): Parameter[] {
  return Object.entries(query).map(([name, { told }]) => ({ name, in: 'query', ...told }));
}
