import type { Model } from '../../config/model.ts';
import { asOfThen, json, refusals, refusalsOfThen } from './answers.ts';
import { ofEveryRoute } from './audit/answers.ts';
import type { Schema } from './fields.ts';
import { momentOnly, type Operation } from './operations.ts';

/** `GET /api/schemas` */
export function schemasOperation({ publicSchema }: Model): Operation {
  return {
    id: 'readSchemas',
    tag: 'system',
    summary: 'Read the schemas of all collections and globals',
    query: momentOnly,
    answers: {
      200: asOfThen(json('What is configured.', 'Schemas')),
      ...refusals([400, 403, 500]),
      ...refusalsOfThen(),
    },
    caller: { kind: 'known', orAnybody: publicSchema },
  };
}

/** `GET /api/openapi.json` */
export function openApiOperation({ publicSchema }: Model): Operation {
  return {
    id: 'readOpenApi',
    tag: 'system',
    summary: 'Read this description',
    answers: { 200: { description: 'OpenAPI 3.0.', schema: { type: 'object' } }, ...refusals([400, 500]) },
    caller: { kind: 'known', orAnybody: publicSchema },
  };
}

/** `GET /api/audit/openapi.json` */
export function auditOpenApiOperation({ publicSchema }: Model): Operation {
  return {
    id: 'audit_openApi',
    tag: 'system',
    summary: 'Read this description',
    answers: { 200: { description: 'OpenAPI 3.0.', schema: { type: 'object' } }, ...ofEveryRoute() },
    caller: { kind: 'known', orAnybody: publicSchema },
  };
}

/** `GET /health` */
export function healthOperation(): Operation {
  return {
    id: 'readHealth',
    tag: 'system',
    summary: 'Ask whether the process answers',
    answers: { 200: { description: 'It does.', schema: stateSchema(['ok']) } },
    caller: { kind: 'anybody' },
  };
}

/** `GET /ready` */
export function readyOperation(): Operation {
  return {
    id: 'readReady',
    tag: 'system',
    summary: 'Ask whether the service is meant to be used',
    answers: {
      200: { description: 'It is.', schema: stateSchema(['ready']) },
      503: { description: 'Not yet, or no longer.', schema: stateSchema(['starting', 'stopping']) },
    },
    caller: { kind: 'anybody' },
  };
}

function stateSchema(states: string[]): Schema {
  const properties = { status: { type: 'string', enum: states } };
  return { type: 'object', properties, required: ['status'], additionalProperties: false };
}
