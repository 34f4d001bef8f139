import type { Json } from '../../config/schema.ts';
import { type Schema, schemaRef } from './fields.ts';

type Parameter = { name: string; in: string; schema: Schema; [key: string]: Json };

type OperationDraft = {
  parameters?: Parameter[];
  responses: { [status: string]: { content?: { [type: string]: { schema: Schema } } } };
  requestBody?: { content: { [type: string]: { schema: Schema } }; required?: boolean };
};

/** The document as hapi-swagger makes it; what is not touched here is not told. */
export type Draft = {
  openapi: string;
  info: Schema;
  servers: { url: string }[];
  tags: Schema[];
  paths: { [path: string]: { [method: string]: OperationDraft } };
  components: { schemas: Record<string, Schema> };
};

/**
 * Mends what hapi-swagger cannot know or say; docs/dependencies.md has the reasons.
 *
 * @param schemas all schemas of the document: they take the place of those that joi has no words for.
 */
export function mend(draft: Draft, schemas: Record<string, Schema>, basePath: string): Draft {
  for (const path of Object.values(draft.paths)) {
    for (const operation of Object.values(path)) {
      if (operation.parameters) operation.parameters = operation.parameters.map(mendParameter);
      if (operation.requestBody) operation.requestBody.required = true;
      const { 200: success } = operation.responses;
      // hapi-swagger makes a text of an answer without a body; none of ours is one.
      if (success?.content?.['application/json']?.schema.type === 'string') delete success.content;
    }
  }
  return {
    // 3.0.3 says what `nullable` means beside `enum` and without `type`, which 3.0.0 left open.
    openapi: '3.0.3',
    info: draft.info,
    // Only the path, so that the document works under every name that the service is reached by.
    servers: [{ url: basePath }],
    tags: draft.tags,
    paths: draft.paths,
    components: { ...draft.components, schemas },
  };
}

function mendParameter(parameter: Parameter): Parameter {
  const { 'x-format': format, description: _, ...schema } = parameter.schema;
  if (parameter.name !== 'where') return { ...parameter, schema: format ? { ...schema, format: 'uuid' } : schema };
  // Without an example of our own, Swagger UI fills in one that no configuration has the fields for.
  return { ...parameter, schema: schemaRef('Where'), style: 'deepObject', explode: true, example: {} };
}
