import type { Request, Server } from '@hapi/hapi';
import type { Collection } from '../../config/model.ts';
import type { App, Target } from '../app.ts';
import { intakeOf } from '../files/uploads/intake.ts';
import { idempotency } from './concurrency/idempotency.ts';
import { ifMatch } from './concurrency/precondition.ts';
import { discardOperation, publishOperation, unpublishOperation } from './drafts/operations.ts';
import { draftRoutes } from './drafts/routes.ts';
import {
  createOperation,
  deleteOperation,
  listOperation,
  readOperation,
  restoreOperation,
  updateOperation,
} from './operations.ts';
import { restoreRoute } from './past/restore.ts';
import { readingRoutes } from './read/routes.ts';
import { serializerFor } from './read/serialize.ts';
import { reviewRoutes } from './reviews/routes.ts';
import { accounts, countSignUp } from './write/passwords.ts';
import { writingRoutes } from './write/routes.ts';
import { admitInAdvance, uploads } from './write/uploads.ts';
import type { Writable } from './write/write-steps.ts';

/** The documents of every collection (contract, section 4.1): concrete routes, so an unknown slug is a plain 404. */
export function collections(server: Server, app: App): void {
  for (const target of app.collections.values()) routesOf(server, app, target);
}

function routesOf(server: Server, app: App, target: Target<Collection>): void {
  const { model } = target;
  const path = `/api/collections/${target.slug}`;
  const present = serializerFor(app, target);
  const intake = intakeOf(app, model, (request: Request, operation) => {
    return admitInAdvance({ app, request, target, present }, operation);
  });
  const writable: Writable<Collection> = {
    app,
    target,
    present,
    ...(model.auth ? { beforeBody: countSignUp } : {}),
    read: intake.read,
    steps: [ifMatch, idempotency, ...(model.upload ? [uploads] : []), ...(model.auth ? [accounts] : [])],
  };

  server.route([
    ...readingRoutes(path, {
      app,
      target,
      present,
      describe: { list: () => listOperation(app.model, model), read: () => readOperation(app.model, model) },
    }),
    ...writingRoutes(path, writable, {
      intake,
      describe: {
        create: () => createOperation(app.model, model),
        update: () => updateOperation(app.model, model),
        delete: () => deleteOperation(app.model, model),
      },
    }),
    restoreRoute(`${path}/{id}/restore`, writable, () => restoreOperation(app.model, model)),
    ...draftRoutes(`${path}/{id}`, writable, {
      publish: () => publishOperation(app.model, model),
      unpublish: () => unpublishOperation(app.model, model),
      discard: () => discardOperation(app.model, model),
    }),
    ...reviewRoutes(`${path}/{id}`, writable),
  ]);
}
