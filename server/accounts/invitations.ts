import type { Server } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import { show } from '../../config/suggest.ts';
import { decideWithdrawal } from '../../events/facts/accounts.ts';
import { splitStream } from '../../events/facts/catalogue.ts';
import type { Invite } from '../../projections/tables/accounts.ts';
import { authorizeInAdvance, may } from '../access/access.ts';
import { noteAdmission } from '../access/admission.ts';
import type { App, Call } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { type AuthTarget, authTargets, requireLiving } from '../callers/sessions.ts';
import { paceOf } from '../documents/read/reading.ts';
import { sendText } from '../documents/read/sending.ts';
import { pageText } from '../documents/read/serialize.ts';
import { noPayload } from '../http/body.ts';
import { idOf } from '../http/requests.ts';
import type { AnswerOf } from '../openapi/answers.ts';
import { entriesOf, pageParameters } from '../queries/pages.ts';
import { readQuery, rejectQuery } from '../queries/parameters.ts';
import { tryToRecord } from './record.ts';
import { invitationsOperation, readInvitationOperation, withdrawOperation } from './registration-operations.ts';

/** An invitation as answers show it. */
type InvitationView = AnswerOf<'Invitation'>;

/** Other requests may change the invitation meanwhile. */
const maxTries = 100;

/** The open invitations into each auth collection, for users who may invite to it. */
export function invitations(server: Server, app: App): void {
  for (const target of authTargets(app)) {
    const { slug, model } = target;
    const path = `/api/collections/${slug}/invitations`;
    server.route([
      {
        method: 'GET',
        path,
        options: { auth: strategy, plugins: { openApi: () => invitationsOperation(model) } },
        handler: async (request, h) => {
          const call = { app, request, target };
          await requireInviter(call);
          const query = readQuery(pageParameters, request.query, app);
          const seen = await seenInvites(call);
          return sendText(h, pageText(entriesOf(seen, query).map(viewOf), seen.length, query));
        },
      },
      {
        method: 'GET',
        path: `${path}/{id}`,
        options: { auth: strategy, plugins: { openApi: () => readInvitationOperation(model) } },
        handler: async (request) => {
          const call = { app, request, target };
          await requireInviter(call);
          rejectQuery(request.query);
          return viewOf(await seenInvite(call, idOf(request)));
        },
      },
      {
        method: 'DELETE',
        path: `${path}/{id}`,
        options: { auth: strategy, plugins: { openApi: () => withdrawOperation(model) }, payload: noPayload },
        handler: async (request) => {
          const call = { app, request, target };
          await requireInviter(call);
          rejectQuery(request.query);
          return viewOf(await withdraw(call, idOf(request)));
        },
      },
    ]);
  }
}

/** Whether an invitation may be accepted: it has not expired, and the account of its sender is there. */
export function isOpen({ clock, byCategory }: App, { expiresAt, inviter }: Invite): boolean {
  const [category, id] = splitStream(inviter);
  return expiresAt > clock.believed() && byCategory.get(category)?.documents.exists(id) === true;
}

/**
 * The open invitations that the caller may send, oldest first.
 *
 * @throws DomainError `unavailable` if the rule takes too long.
 */
async function seenInvites(call: Call<AuthTarget['model']>): Promise<Invite[]> {
  const { app, target } = call;
  const pace = paceOf(call);
  const seen: Invite[] = [];
  for (const invite of app.accounts.invites(target.category)) {
    await pace();
    if (isOpen(app, invite) && (await mayInvite(call, invite))) seen.push(invite);
  }
  return seen;
}

/** An open invitation. @throws DomainError `not_found`, also for an invitation that the caller may not send. */
async function seenInvite(call: Call<AuthTarget['model']>, id: string): Promise<Invite> {
  const { app, target } = call;
  const invite = app.accounts.invite(id);
  if (invite?.category === target.category && isOpen(app, invite) && (await mayInvite(call, invite))) return invite;
  throw new DomainError('not_found', `there is no open invitation ${show(id)} to ${target.slug}`);
}

/**
 * Ends an invitation.
 *
 * @returns the invitation as it was.
 * @throws DomainError `not_found`, also for an invitation that the caller may not send.
 */
async function withdraw(call: Call<AuthTarget['model']>, id: string): Promise<Invite> {
  const { app, request, target } = call;
  // An acceptance that comes first leaves nothing to withdraw; a mail that was sent meanwhile moves the stream.
  for (let count = 1; count <= maxTries; count += 1) {
    const invite = await seenInvite(call, id);
    requireLiving(app, request);
    noteAdmission(request, target, 'create');
    if (await tryToRecord(call, decideWithdrawal(invite))) return invite;
  }
  throw new DomainError('write_conflict', 'others keep changing this invitation; try again');
}

/**
 * Refuses callers who may not invite to a collection, as far as that can be decided without an address.
 *
 * @throws DomainError `unauthorized` for callers who are not users, `forbidden`.
 */
async function requireInviter(call: Call<AuthTarget['model']>): Promise<void> {
  if (!call.request.auth.credentials.user?.session) throw new DomainError('unauthorized', 'a token is needed');
  await authorizeInAdvance(call, 'create', null);
}

/** Whether the caller may send this invitation, by the rule for inviting. */
function mayInvite(call: Call<AuthTarget['model']>, { email }: Invite): Promise<boolean> {
  return may(call, 'create', { doc: () => null, data: { email } });
}

function viewOf({ id, email, inviter, createdAt, expiresAt }: Invite): InvitationView {
  return {
    id,
    email,
    invitedBy: { type: 'user', id: inviter },
    createdAt: new Date(createdAt).toISOString(),
    expiresAt: new Date(expiresAt).toISOString(),
  };
}
