import type { ApiOperation } from '../openapi/operation.ts';
import { json, refusals } from '../openapi/responses.ts';

/** `GET /api/admin/boot` */
export function bootOperation(): ApiOperation {
  return {
    id: 'readBoot',
    tag: 'system',
    summary: 'Read what an admin UI needs before a user logs in',
    description:
      'Returns the title, whether there is a first user, and the collections whose users can log in. Needs no credential.',
    answers: { 200: json('The facts.', 'Boot'), ...refusals([400, 500]) },
    caller: { kind: 'anybody' },
  };
}
