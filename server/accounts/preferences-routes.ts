import type { Request, ResponseObject, ResponseToolkit, Server } from '@hapi/hapi';
import { readObject } from '../../config/drafts.ts';
import { DomainError } from '../../config/errors.ts';
import type { AccountRef } from '../../events/facts/accounts.ts';
import { documentStream } from '../../events/facts/catalogue.ts';
import type { App } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { authTargets, requireLiving, requireUser } from '../callers/sessions.ts';
import { unstored } from '../callers/vary.ts';
import { expectedTags } from '../documents/concurrency/etags.ts';
import { sendTagged } from '../documents/read/sending.ts';
import { jsonPayload, readBody } from '../http/body.ts';
import { mergePatch } from '../http/media-types.ts';
import { rejectQuery } from '../queries/parameters.ts';
import { maxPreferences, tagOf } from './preferences.ts';
import { changePreferencesOperation, readPreferencesOperation } from './preferences-operations.ts';

/** The preferences of users, each for themselves. */
export function preferences(server: Server, app: App): void {
  if (authTargets(app).length === 0) return;
  const path = '/api/preferences';
  const userOf = (request: Request): AccountRef & { name: string } => {
    const { category, id } = requireUser(request);
    return { category, id, name: documentStream(category, id) };
  };

  server.route([
    {
      method: 'GET',
      path,
      options: { auth: strategy, plugins: { openApi: readPreferencesOperation } },
      handler: async (request, h) => {
        const { name } = userOf(request);
        rejectQuery(request.query);
        return send(h, await app.preferences.read(name));
      },
    },
    {
      method: 'PATCH',
      path,
      options: {
        auth: strategy,
        payload: { ...jsonPayload, allow: ['application/json', mergePatch] },
        plugins: { openApi: changePreferencesOperation, neverShed: true, takes: ['if-match'] },
      },
      handler: async (request, h) => {
        const { category, id, name } = userOf(request);
        rejectQuery(request.query);
        const expected = expectedTags(request);
        const patch = readObject(await readBody(request, maxPreferences));
        requireLiving(app, request);
        const changed = await app.preferences.change(name, patch, expected);
        // The user may have been erased meanwhile: then nothing is kept.
        if (app.byCategory.get(category)?.documents.exists(id) !== true) {
          await app.preferences.forget(name);
          throw new DomainError('invalid_token', 'the session has ended');
        }
        return send(h, changed);
      },
    },
  ]);
}

function send(h: ResponseToolkit, data: string): ResponseObject {
  return unstored(sendTagged(h, data, tagOf(data)));
}
