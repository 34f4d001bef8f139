import type { Server } from '@hapi/hapi';
import type { Schema } from '../../config/schema.ts';
import { requireSchemaAccess } from '../access.ts';
import { sendText } from '../answers.ts';
import type { App } from '../app.ts';
import { strategy } from '../authentication.ts';
import { schemasOperation } from '../openapi/operations.ts';
import { readNoQuery } from '../query.ts';

/** What the collections and globals are made of (contract, section 4.5), as text that is made once. */
export function schemas(server: Server, { model }: App): void {
  const text = JSON.stringify(schemasOf(model.schema));
  server.route({
    method: 'GET',
    path: '/api/schemas',
    options: { auth: strategy, plugins: { openApi: () => schemasOperation(model) } },
    handler: (request, h) => {
      requireSchemaAccess(model, request);
      readNoQuery(request.query);
      return sendText(h, text);
    },
  });
}

/** Every member is present, whatever the configuration leaves out. */
function schemasOf({ collections, globals }: Schema) {
  return {
    collections: collections.map(({ slug, labels = null, fields, auth = false, upload = false }) => {
      return { slug, labels, fields, auth, upload };
    }),
    globals: globals.map(({ slug, label = null, fields }) => ({ slug, label, fields })),
  };
}
