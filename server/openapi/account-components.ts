import type { Collection, Model } from '../../config/model.ts';
import { maxPasswordBytes, minPasswordCharacters } from '../../config/passwords.ts';
import { isObject } from '../../config/schema.ts';
import {
  anyObject,
  choice,
  closed,
  count,
  described,
  flag,
  isTrue,
  listOf,
  type Members,
  namesOf,
  ofType,
  orNull,
  pageOf,
  refTo,
  type Shape,
  text,
  time,
  uuid,
  withKeywords,
} from './basics.ts';
import { type ApiSchema, accountEmail, objectOf, schemaRef } from './fields.ts';

const secret: Shape<string> = { type: 'string', format: 'password', writeOnly: true };

/** A password that a user chooses. The service counts bytes, for which JSON Schema has no word. */
const newPassword: Shape<string> = {
  ...secret,
  minLength: minPasswordCharacters,
  maxLength: maxPasswordBytes,
  description: `At least ${minPasswordCharacters} characters, at most ${maxPasswordBytes} bytes in UTF-8.`,
};

/** The e-mail of a log-in: any text. */
const soughtEmail: Shape<string> = { type: 'string', maxLength: 1000, example: 'ada@example.org' };
const oneTimeToken: Shape<string> = { ...secret, maxLength: 1000, description: 'The token that came in a mail.' };
const setupToken: Shape<string> = {
  ...oneTimeToken,
  description: 'The setup token that the service printed at its start.',
};
const token: Shape<string> = { type: 'string', description: 'A JWT, for the header `Authorization: Bearer <token>`.' };

const draftData: Shape<Record<string, unknown>> = {
  ...anyObject,
  additionalProperties: true,
  description: 'The values as the user has typed them, valid or not.',
};

/** The subject of unsaved changes: a document, or a global. */
type DraftSubject = { collection: string; id: string } | { global: string; id: null };

const shownDraft = { id: orNull(text), title: text, updatedAt: time, version: orNull(count) };
const shownDraftWithData = { ...shownDraft, data: draftData };

/** Unsaved changes of a document, with `collection`, or of a global, with `global`. */
const ownDraft = ofType<DraftSubject & Omit<Members<typeof shownDraft>, 'id'>>(
  closed({ collection: text, global: text, ...shownDraft }, namesOf(shownDraft)),
);

const invitation = closed({
  id: uuid,
  email: text,
  invitedBy: closed({
    type: choice(['user']),
    id: described(text, 'The collection and the id of the user: `editors/<id>`.'),
  }),
  createdAt: time,
  expiresAt: time,
});

const session = closed({
  sid: uuid,
  startedAt: time,
  refreshedAt: orNull(time),
  expiresAt: time,
  ip: orNull(text),
  userAgent: orNull(text),
  isCurrent: described(flag, 'Whether this is the session of the request.'),
});

/** The schemas of account routes that are the same for every auth collection. */
export const accountSchemas = {
  Login: closed({ email: soughtEmail, password: secret }),
  ForgotPassword: closed({ email: soughtEmail }),
  ResetPassword: closed({ token: oneTimeToken, password: newPassword }),
  Invite: closed({ email: accountEmail }),
  Invitation: invitation,
  Invitations: pageOf(refTo('Invitation', invitation)),
  OwnDraft: ownDraft,
  OwnDraftWithData: ofType<DraftSubject & Omit<Members<typeof shownDraftWithData>, 'id'>>(
    closed({ collection: text, global: text, ...shownDraftWithData }, namesOf(shownDraftWithData)),
  ),
  OwnDrafts: pageOf(refTo('OwnDraft', ownDraft)),
  NewOwnDraft: closed(
    {
      data: draftData,
      version: described(
        orNull(count),
        'The version of the document that the user has changed; `null` for a document that does not exist yet.',
      ),
    },
    ['data'],
  ),
  Preferences: withKeywords(anyObject, {
    additionalProperties: true,
    description: 'Any JSON object.',
    example: { theme: 'dark', lists: { posts: { columns: ['title'] } } },
  }),
  Token: closed({ token }),
  Success: closed({ success: isTrue, message: text }),
  Init: closed({ initialized: described(flag, 'Whether there is a user.') }),
  Session: session,
  Account: closed({
    locked: flag,
    lockedUntil: orNull(time),
    failures: described(count, 'Failed logins in a row that still count.'),
    lastLoginAt: orNull(time),
    hasPassword: flag,
    sessions: listOf(refTo('Session', session)),
  }),
  Sessions: pageOf(refTo('Session', session)),
};

/** The answer to a log-in, with the document of the user. */
export function loginSchema<User>(user: Shape<User>) {
  return closed({ token, user });
}

/** The schemas of account routes that have the fields of an auth collection in them. */
export function usersSchemas(
  { adminCollection }: Model,
  { slug, fields }: Collection,
  own: Record<string, ApiSchema>,
): Record<string, ApiSchema> {
  const name = `collections.${slug}`;
  const bodyWithout = (left: string, members: Record<string, ApiSchema>) => {
    const given = fields.filter((field) => field.name !== left && !Object.hasOwn(members, field.name));
    return objectOf(given, 'create', { ...own, ...members });
  };
  return {
    [`${name}.login`]: loginSchema(schemaRef(name)),
    [`${name}.acceptInvite`]: bodyWithout('email', { token: oneTimeToken, password: newPassword }),
    ...(slug === adminCollection
      ? { [`${name}.firstUser`]: bodyWithout('', { setupToken, password: newPassword }) }
      : {}),
  };
}

/** The body of a write to an auth collection, which may carry a password. */
export function withPassword(body: ApiSchema): ApiSchema {
  return { ...body, properties: { ...(isObject(body.properties) ? body.properties : {}), password: newPassword } };
}
