import { randomUUID } from 'node:crypto';
import type { Server, ServerRoute } from '@hapi/hapi';
import { readAccept, readFirstUser, readInvite } from '../../config/credentials.ts';
import { DomainError, inBody } from '../../config/errors.ts';
import type { JsonObject } from '../../config/schema.ts';
import {
  type AccountRef,
  decideAcceptance,
  decideInvite,
  decidePassword,
  decideSetup,
} from '../../events/facts/accounts.ts';
import { decideCreate } from '../../events/facts/documents.ts';
import type { Change } from '../../events/facts/log.ts';
import { authorize } from '../access/access.ts';
import type { NoRule } from '../access/admission.ts';
import type { App, Call } from '../app.ts';
import { publicStrategy, strategy } from '../callers/authentication.ts';
import { countCall } from '../callers/counting.ts';
import { type AuthTarget, authTargets, becomeUser, newSession, requireLiving, userWith } from '../callers/sessions.ts';
import { answerOnce } from '../documents/concurrency/answer-once.ts';
import { runAfterHooks } from '../documents/hooks.ts';
import { checkedValues } from '../documents/write/checked-values.ts';
import { withPassword } from '../documents/write/passwords.ts';
import { writeAs } from '../documents/write/writes.ts';
import { jsonPayload, readBody } from '../http/body.ts';
import { locationOf } from '../http/location.ts';
import { noteReason } from '../http/reason.ts';
import type { AnswerOf } from '../openapi/answers.ts';
import { rejectQuery } from '../queries/parameters.ts';
import { isOpen } from './invitations.ts';
import { badToken } from './one-time-tokens.ts';
import { record } from './record.ts';
import {
  acceptInviteOperation,
  firstUserOperation,
  initOperation,
  inviteOperation,
} from './registration-operations.ts';
import { hasUsers, setupTokenId } from './setup.ts';
import { userAnswersOf } from './user-answers.ts';

type NewUser = { values: JsonObject; password: string };

const inviteMilliseconds = 7 * 24 * 3600 * 1000;

/** Registration (contract, section 4.4): by invitation, and of the first user by the operator's setup token. */
export function registrations(server: Server, app: App): void {
  for (const target of authTargets(app)) server.route([...inviteRoutes(app, target), ...firstUserRoutes(app, target)]);
}

function inviteRoutes(app: App, target: AuthTarget): ServerRoute[] {
  const { slug, category, model } = target;
  const path = `/api/collections/${slug}`;
  const maxBytes = app.model.limits.body;
  const { sendSession } = userAnswersOf(app, target);

  return [
    {
      method: 'POST',
      path: `${path}/invite`,
      options: {
        auth: strategy,
        plugins: { openApi: () => inviteOperation(model), takes: ['idempotency-key'] },
        payload: jsonPayload,
      },
      handler: async (request, h) => {
        if (!request.auth.credentials.user?.session) throw new DomainError('unauthorized', 'a token is needed');
        const body = await readBody(request, maxBytes);
        await authorize({ app, request, target }, 'create', { doc: () => null, data: body ?? null });
        const { email } = readInvite(body);
        rejectQuery(request.query);
        return answerOnce({ app, request, h, body }, async (app) => {
          requireLiving(app, request);
          if (userWith(target, email) !== null) throw taken();
          const expiresAt = new Date(app.clock.believed() + inviteMilliseconds);
          await record({ app, request }, decideInvite({ category, id: randomUUID() }, { email, expiresAt }));
          await app.passwords.mailWaits();
          return { body: { success: true, message: 'the invitation is on its way' } satisfies AnswerOf<'Success'> };
        });
      },
    },
    {
      method: 'POST',
      path: `${path}/accept-invite`,
      options: { auth: publicStrategy, plugins: { openApi: () => acceptInviteOperation(model) }, payload: jsonPayload },
      handler: async (request, h) => {
        rejectQuery(request.query);
        const { token, password, values } = readAccept(await readBody(request, maxBytes));
        await countCall(app, request, null);
        const id = await app.passwords.openToken('invite', category, token);
        // Read again in each retry: if several requests have one token, the first wins.
        const find = () => {
          const invite = id === null ? null : app.accounts.invite(id);
          if (!invite || invite.category !== category || !isOpen(app, invite)) throw badToken();
          return invite;
        };
        const { email } = find();
        noteReason(request, model, 'accepted an invitation');
        request.app.rule = 'invitation' satisfies NoRule;
        const session = await register(
          { app, request, target },
          { values: { ...values, email }, password },
          (account) => decideAcceptance(find(), account),
        );
        const answer = await sendSession(request, h, session);
        return answer.code(201).location(locationOf(app, `${path}/${session.id}`));
      },
    },
  ];
}

function firstUserRoutes(app: App, target: AuthTarget): ServerRoute[] {
  const { slug, category, model } = target;
  const path = `/api/collections/${slug}`;
  const { sendSession } = userAnswersOf(app, target);

  return [
    {
      method: 'GET',
      path: `${path}/init`,
      options: { auth: publicStrategy, plugins: { openApi: () => initOperation(model) } },
      handler: (request) => {
        rejectQuery(request.query);
        return { initialized: hasUsers(target) } satisfies AnswerOf<'Init'>;
      },
    },
    {
      method: 'POST',
      path: `${path}/first-user`,
      options: {
        auth: publicStrategy,
        // In other collections the route can only refuse.
        plugins: slug === app.model.adminCollection ? { openApi: () => firstUserOperation(model) } : {},
        payload: jsonPayload,
      },
      handler: async (request, h) => {
        rejectQuery(request.query);
        const { setupToken, email, password, values } = readFirstUser(await readBody(request, app.model.limits.body));
        await countCall(app, request, email);
        const opened = await app.passwords.openToken('setup', category, setupToken);
        if (app.model.adminCollection !== slug || opened === null) throw notFirst();
        // The token is the operator's: no rule limits the first user.
        request.auth.credentials = { user: { actor: { type: 'system' }, session: null } };
        noteReason(request, model, 'set up as the first user');
        request.app.rule = 'setup' satisfies NoRule;
        const session = await register({ app, request, target }, { values, password }, (account) => {
          if (opened !== setupTokenId(app, category) || hasUsers(target)) throw notFirst();
          return decideSetup(account, app.accounts.setupVersion(category));
        });
        const answer = await sendSession(request, h, session);
        return answer.code(201).location(locationOf(app, `${path}/${session.id}`));
      },
    },
  ];
}

/**
 * Creates an account and starts a session: the document, the password, the session and the use of the token are
 * recorded together or not at all.
 */
async function register(
  { app, request, target }: Call<AuthTarget['model']>,
  given: NewUser,
  decideRight: (account: AccountRef) => Change,
) {
  const hookContext = { app, request, target, operation: 'create', doc: null } as const;
  const values = await checkedValues(hookContext, given.values);
  const { id, at } = app.ids.next();
  const account: AccountRef = { category: target.category, id };
  const decision = decideCreate(target, id, { at, values });
  const actor = { type: 'user', id: decision.stream } as const;
  const session = await withPassword(hookContext, given.password, async (keep) => {
    decideRight(account);
    const credential = await keep();
    const session = newSession(app, target, credential);
    const started = decidePassword(account, credential, { session });
    await writeAs(hookContext, { stream: decision.stream, actor }, async () => {
      return { decision, also: [decideRight(account), started], answer: null };
    });
    return session;
  });
  const document = target.documentOf(id, decision.events[0]?.data ?? {});
  await runAfterHooks(hookContext, 'afterChange', document);
  becomeUser(hookContext, { ...account, sid: session.sid });
  await app.passwords.mailWaits();
  return { id, sid: session.sid };
}

function notFirst(): DomainError {
  return new DomainError(
    'forbidden',
    'this is only for the first user, with the setup token that was printed at start',
  );
}

function taken(): DomainError {
  const message = 'email is taken by another account';
  return new DomainError('unique', message, [{ ...inBody('email', 'unique'), message }]);
}
