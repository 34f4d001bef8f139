import type { ServerRoute } from '@hapi/hapi';
import type { Collection } from '../../../config/model.ts';
import { strategy } from '../../callers/authentication.ts';
import type { Intake } from '../../files/uploads/intake.ts';
import { noPayload } from '../../http/body.ts';
import type { ApiOperation } from '../../openapi/operation.ts';
import { createLine, removeLine, updateLine } from '../drafts/line-writes.ts';
import { create, remove, update } from './document-writes.ts';
import { perform, receive, type Writable, writeOf } from './write-steps.ts';

/** The features that the routes are given: how bodies come in, and descriptions. */
type Features = {
  intake: Pick<Intake, 'options'>;
  describe: { create: () => ApiOperation; update: () => ApiOperation; delete: () => ApiOperation };
};

/** The routes that create, change and delete documents. */
export function writingRoutes(
  path: string,
  writable: Writable<Collection>,
  { intake, describe }: Features,
): ServerRoute[] {
  const run = writable.target.lines
    ? { create: createLine, update: updateLine, remove: removeLine }
    : { create, update, remove };
  return [
    {
      method: 'POST',
      path,
      options: {
        auth: strategy,
        plugins: { openApi: describe.create, takes: ['idempotency-key'] },
        ...intake.options('create'),
      },
      handler: async (_request, h) => (await perform(await receive(writable, h, 'create'), run.create)).code(201),
    },
    {
      method: 'PATCH',
      path: `${path}/{id}`,
      options: {
        auth: strategy,
        plugins: { openApi: describe.update, takes: ['if-match', 'idempotency-key'] },
        ...intake.options('update'),
      },
      handler: async (_request, h) => perform(await receive(writable, h, 'update'), run.update),
    },
    {
      method: 'DELETE',
      path: `${path}/{id}`,
      options: {
        auth: strategy,
        payload: noPayload,
        plugins: { openApi: describe.delete, takes: ['if-match', 'idempotency-key'] },
      },
      handler: (_request, h) => {
        return perform(writeOf(writable, h, { operation: 'delete', body: null, upload: null, data: null }), run.remove);
      },
    },
  ];
}
