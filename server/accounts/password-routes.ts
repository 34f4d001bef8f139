import { randomUUID } from 'node:crypto';
import type { Server, ServerRoute } from '@hapi/hapi';
import { readForgotten, readReset } from '../../config/credentials.ts';
import { decideNothing, decideReset, decideResetRequest, decideUnlock } from '../../events/facts/accounts.ts';
import { accountStream, documentStream } from '../../events/facts/catalogue.ts';
import type { App } from '../app.ts';
import { publicStrategy } from '../callers/authentication.ts';
import { countCall } from '../callers/counting.ts';
import { type AuthTarget, authTargets, userWith } from '../callers/sessions.ts';
import { withPassword } from '../documents/write/passwords.ts';
import { writeAs } from '../documents/write/writes.ts';
import { jsonPayload, readBody } from '../http/body.ts';
import type { AnswerOf } from '../openapi/answers.ts';
import { rejectQuery } from '../queries/parameters.ts';
import { badToken } from './one-time-tokens.ts';
import { recordLater } from './record.ts';
import { forgotPasswordOperation, resetPasswordOperation } from './registration-operations.ts';

const resetMilliseconds = 3600 * 1000;

/** Passwords that were forgotten (contract, section 4.4), for each auth collection. */
export function passwords(server: Server, app: App): void {
  for (const target of authTargets(app)) server.route([forgotRoute(app, target), resetRoute(app, target)]);
}

function forgotRoute(app: App, target: AuthTarget): ServerRoute {
  const { slug, category, model } = target;
  return {
    method: 'POST',
    path: `/api/collections/${slug}/forgot-password`,
    options: {
      auth: publicStrategy,
      plugins: { openApi: () => forgotPasswordOperation(model), neverShed: true },
      payload: jsonPayload,
    },
    handler: async (request) => {
      rejectQuery(request.query);
      const { email } = readForgotten(await readBody(request, app.model.limits.body));
      await countCall(app, request, email);
      const id = userWith(target, email);
      if (id !== null) {
        const expiresAt = new Date(app.clock.believed() + resetMilliseconds);
        const change = decideResetRequest({ category, id }, { reset: randomUUID(), email, expiresAt });
        const mayRecord = () => app.passwords.mayMail(category, id);
        recordLater({ app, request }, change, { mayRecord, afterwards: app.passwords.mailWaits });
      }
      return {
        success: true,
        message: 'if there is an account with this address, a mail is on its way to it',
      } satisfies AnswerOf<'Success'>;
    },
  };
}

function resetRoute(app: App, target: AuthTarget): ServerRoute {
  const { slug, category, model, documents } = target;
  return {
    method: 'POST',
    path: `/api/collections/${slug}/reset-password`,
    options: {
      auth: publicStrategy,
      plugins: { openApi: () => resetPasswordOperation(model) },
      payload: jsonPayload,
    },
    handler: async (request) => {
      rejectQuery(request.query);
      const { token, password } = readReset(await readBody(request, app.model.limits.body));
      await countCall(app, request, null);
      const reset = await app.passwords.openToken('reset', category, token);
      // Read again in each retry: if several requests have one token, the first wins.
      const find = () => {
        const found = reset === null ? null : app.accounts.reset(reset);
        if (!found || found.category !== category || found.email === null || found.expiresAt <= app.clock.believed())
          throw badToken();
        // A token is void once the user has another address than the mail went to.
        if (userWith(target, found.email) !== found.id) throw badToken();
        return { ...found, email: found.email, reset: String(reset) };
      };
      const { id, email } = find();
      let old: string | null = null;
      const actor = { type: 'user', id: documentStream(category, id) } as const;
      await withPassword({ app, request }, password, async (keep) => {
        const credential = await keep();
        await writeAs({ app, request }, { stream: accountStream(category, id), actor }, async () => {
          const { version, reset, credential: before } = find();
          old = before;
          const decision = decideReset({ category, id }, { version, reset, credential });
          // The user is there still, under the same address.
          const user = documents.current(id);
          return {
            decision,
            also: user ? [decideNothing(documentStream(category, id), user.version)] : [],
            answer: null,
          };
        });
      });
      request.auth.credentials = { user: { actor, session: null } };
      if (old !== null) await app.passwords.forgetPassword(old);
      if (await app.passwords.unlock(category, email)) recordLater({ app, request }, decideUnlock({ category, id }));
      await app.passwords.mailWaits();
      return { success: true, message: 'the password is changed' } satisfies AnswerOf<'Success'>;
    },
  };
}
