import type { Server } from '@hapi/hapi';
import type { Collection } from '../../config/model.ts';
import type { App } from '../app.ts';
import { publicStrategy } from '../callers/authentication.ts';
import type { AnswerOf } from '../openapi/answers.ts';
import { rejectQuery } from '../queries/parameters.ts';
import { bootOperation } from './boot-operations.ts';
import { hasUsers } from './setup.ts';

/** The facts that the admin UI needs before its user has logged in. Without the admin UI there is no such route. */
export function boot(server: Server, app: App): void {
  const { admin, adminCollection, publicSchema, collections } = app.model;
  if (!admin) return;
  const authCollections = [...collections.values()].filter(({ auth }) => auth).map(describe);
  const users = adminCollection === null ? undefined : app.collections.get(adminCollection);
  server.route({
    method: 'GET',
    path: '/api/admin/boot',
    options: { auth: publicStrategy, plugins: { openApi: () => bootOperation() } },
    handler: (request): AnswerOf<'Boot'> => {
      rejectQuery(request.query);
      return {
        title: admin.title,
        initialized: users !== undefined && hasUsers(users),
        authCollections,
        publicSchema,
      };
    },
  });

  function describe({ slug, schema }: Collection): AnswerOf<'Boot'>['authCollections'][number] {
    const { labels = null } = schema;
    return { slug, labels, isAdmin: slug === adminCollection, login: ['password'] };
  }
}
