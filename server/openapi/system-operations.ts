import type { Model } from '../../config/model.ts';
import { momentParameter } from '../queries/query.ts';
import { ofEveryRoute } from './audit/responses.ts';
import { ifNoneMatch } from './descriptions.ts';
import type { Schema } from './fields.ts';
import { ifKnown, type Operation } from './operation.ts';
import { asOfThen, json, ofSchemas, refusals, refusalsOfThen } from './responses.ts';

/** `GET /api/schemas` */
export function schemasOperation({ publicSchema }: Model): Operation {
  return {
    id: 'readSchemas',
    tag: 'system',
    summary: 'Read the schemas of all collections and globals',
    description:
      'Returns the configuration: every collection and global with its fields and options, without functions. A user is told what ' +
      `they may do in each, in \`access\`: \`false\` is sure, \`true\` may hold for some documents only.\n\n${ifNoneMatch}`,
    query: momentParameter,
    headers: ifKnown,
    answers: {
      200: asOfThen({ ...json('The configuration.', 'Schemas'), headers: ofSchemas }),
      304: { description: 'The configuration is the one that is there already.', headers: ofSchemas },
      ...refusals([400, 403, 500]),
      ...refusalsOfThen,
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
    description: 'Returns this document, which is made of the configuration when it is asked for first.',
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
    description: 'Returns this document. All other routes are in `/api/openapi.json`.',
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
    description:
      'For what restarts a process that hangs: it answers as long as the process does, and looks at nothing else.',
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
    description:
      'For what sends requests: 503 while the service loads its first data, from when it is told to end, and while the disk is full. ' +
      'Then reads are served all the same, and writes are refused. Where the log is in PostgreSQL also while this node does not see what ' +
      'other nodes append.',
    answers: {
      200: { description: 'It is.', schema: stateSchema(['ready']) },
      503: { description: 'Not yet, no longer, or not for writes.', schema: notReadySchema() },
    },
    caller: { kind: 'anybody' },
  };
}

function notReadySchema(): Schema {
  return stateSchema(['starting', 'stopping', 'full', 'behind', 'waiting', 'outdated'], {
    reads: { type: 'string', enum: ['served'], description: 'While the disk is full.' },
    writes: { type: 'string', enum: ['refused'], description: 'While the disk is full.' },
  });
}

function stateSchema(states: string[], more: Record<string, Schema> = {}): Schema {
  const properties = { status: { type: 'string', enum: states }, ...more };
  return { type: 'object', properties, required: ['status'], additionalProperties: false };
}
