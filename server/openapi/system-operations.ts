import type { Model } from '../../config/model.ts';
import { momentParameter } from '../queries/query.ts';
import { ofEveryRoute } from './audit/responses.ts';
import type { ApiSchema } from './fields.ts';
import { type ApiOperation, ifKnown } from './operation.ts';
import { asOfThen, description, json, ofSchemas, refusals, refusalsOfThen } from './responses.ts';

/** `GET /api/schemas` */
export function schemasOperation({ publicSchema }: Model): ApiOperation {
  return {
    id: 'readSchemas',
    tag: 'system',
    summary: 'Read the schemas of all collections and globals',
    description:
      'Returns the configuration: every collection and global with its fields and options, without functions. For a user, ' +
      '`access` shows the rights to each: `false` is certain, `true` may hold only for some documents.',
    query: momentParameter,
    headers: ifKnown,
    answers: {
      200: asOfThen({ ...json('The configuration.', 'Schemas'), headers: ofSchemas }),
      304: { description: 'The configuration has not changed: it still has this `ETag`.', headers: ofSchemas },
      ...refusals([400, 403, 500]),
      ...refusalsOfThen,
    },
    caller: { kind: 'known', orAnybody: publicSchema },
  };
}

/** `GET /api/openapi.json` */
export function openApiOperation({ publicSchema }: Model): ApiOperation {
  return {
    id: 'readOpenApi',
    tag: 'system',
    summary: 'Read this description',
    description: 'Returns this document, which the service generates from the configuration at the first request.',
    headers: ifKnown,
    answers: { ...description, ...refusals([400, 500]) },
    caller: { kind: 'known', orAnybody: publicSchema },
  };
}

/** `GET /api/audit/openapi.json` */
export function auditOpenApiOperation({ publicSchema }: Model): ApiOperation {
  return {
    id: 'audit_openApi',
    tag: 'system',
    summary: 'Read this description',
    description: 'Returns this document. All other routes are in `/api/openapi.json`.',
    headers: ifKnown,
    answers: { ...description, ...ofEveryRoute() },
    caller: { kind: 'known', orAnybody: publicSchema },
  };
}

/** `GET /health` */
export function healthOperation(): ApiOperation {
  return {
    id: 'readHealth',
    tag: 'system',
    summary: 'Check that the process answers',
    description:
      'For a supervisor that restarts a hanging process. Answers as long as the process answers, and checks nothing else.',
    answers: { 200: { description: 'The process answers.', schema: stateSchema(['ok']) } },
    caller: { kind: 'anybody' },
  };
}

/** `GET /ready` */
export function readyOperation(): ApiOperation {
  return {
    id: 'readReady',
    tag: 'system',
    summary: 'Check that the service is ready',
    description:
      'For a load balancer: 503 while the service loads its first data, from the moment it is told to end, and while the ' +
      'disk is full; with a full disk, reads are still served and writes are refused. If the log is in PostgreSQL, also 503 ' +
      'while this node does not see the events of other nodes.',
    answers: {
      200: { description: 'The service is ready.', schema: stateSchema(['ready']) },
      503: {
        description: 'The service is not ready yet, is shutting down, or does not accept writes.',
        schema: notReadySchema(),
      },
    },
    caller: { kind: 'anybody' },
  };
}

function notReadySchema(): ApiSchema {
  return stateSchema(['starting', 'stopping', 'full', 'behind', 'waiting', 'outdated'], {
    reads: { type: 'string', enum: ['served'], description: 'While the disk is full.' },
    writes: { type: 'string', enum: ['refused'], description: 'While the disk is full.' },
  });
}

function stateSchema(states: string[], more: Record<string, ApiSchema> = {}): ApiSchema {
  const properties = { status: { type: 'string', enum: states }, ...more };
  return { type: 'object', properties, required: ['status'], additionalProperties: false };
}
