import type { Collection, Model } from '../../config/model.ts';
import { maxPasswordBytes, minPasswordCharacters } from '../../config/passwords.ts';
import { isObject } from '../../config/schema.ts';
import { closed, count, described, flag, listOf, orNull, text, time } from './basics.ts';
import { accountEmail, objectOf, type Schema, schemaRef } from './fields.ts';

const secret: Schema = { type: 'string', format: 'password', writeOnly: true };

/** A password that is chosen. The service counts bytes, for which there are no words here. */
const newPassword: Schema = {
  ...secret,
  minLength: minPasswordCharacters,
  maxLength: maxPasswordBytes,
  description: `At least ${minPasswordCharacters} characters, at most ${maxPasswordBytes} bytes in UTF-8.`,
};

/** Any text may be looked for. */
const soughtEmail: Schema = { type: 'string', maxLength: 1000, example: 'ada@example.org' };
const oneTimeToken: Schema = { ...secret, maxLength: 1000, description: 'The token that came in a mail.' };
const setupToken: Schema = { ...oneTimeToken, description: 'The setup token that the service printed at its start.' };
const token: Schema = { type: 'string', description: 'A JWT, for the header `Authorization: Bearer <token>`.' };

const draftData: Schema = {
  type: 'object',
  additionalProperties: true,
  description: 'The values as the user has typed them, right or wrong.',
};

/** A draft of a document, with `collection`, or of a global, with `global`. */
function ownDraft(members: Record<string, Schema>): Schema {
  const shown = { id: orNull(text), title: text, updatedAt: time, version: orNull(count), ...members };
  return closed({ collection: text, global: text, ...shown }, Object.keys(shown));
}

/** The schemas of account routes that are the same for every auth collection. */
export const accountSchemas: Record<string, Schema> = {
  Login: closed({ email: soughtEmail, password: secret }),
  ForgotPassword: closed({ email: soughtEmail }),
  ResetPassword: closed({ token: oneTimeToken, password: newPassword }),
  Invite: closed({ email: accountEmail }),
  Invitation: closed({
    id: { type: 'string', format: 'uuid' },
    email: text,
    invitedBy: closed({
      type: { type: 'string', enum: ['user'] },
      id: described(text, 'The collection and the id of the user: `editors/<id>`.'),
    }),
    createdAt: time,
    expiresAt: time,
  }),
  Invitations: closed({ invitations: listOf(schemaRef('Invitation')) }),
  OwnDraft: ownDraft({}),
  OwnDraftWithData: ownDraft({ data: draftData }),
  OwnDrafts: closed({ drafts: listOf(schemaRef('OwnDraft')) }),
  NewOwnDraft: closed(
    {
      data: draftData,
      version: described(
        orNull(count),
        'The version of the document that was changed; `null` for one that is not there yet.',
      ),
    },
    ['data'],
  ),
  Preferences: {
    type: 'object',
    additionalProperties: true,
    description: 'Any JSON object.',
    example: { theme: 'dark', lists: { posts: { columns: ['title'] } } },
  },
  Token: closed({ token }),
  Success: closed({ success: { type: 'boolean', enum: [true] }, message: text }),
  Init: closed({ initialized: { ...flag, description: 'Whether there is a user.' } }),
  Session: closed({
    sid: { type: 'string', format: 'uuid' },
    startedAt: time,
    refreshedAt: { ...time, nullable: true },
    expiresAt: time,
    ip: { ...text, nullable: true },
    userAgent: { ...text, nullable: true },
    isCurrent: { ...flag, description: 'Whether it is the session of this request.' },
  }),
  Account: closed({
    locked: flag,
    lockedUntil: orNull(time),
    failures: described(count, 'Failed logins in a row that still count.'),
    lastLoginAt: orNull(time),
    hasPassword: flag,
    sessions: listOf(schemaRef('Session')),
  }),
  Sessions: closed({ sessions: { type: 'array', items: schemaRef('Session') } }),
};

/** The schemas of account routes that have the fields of an auth collection in them. */
export function usersSchemas(
  { adminCollection }: Model,
  { slug, fields }: Collection,
  own: Record<string, Schema>,
): Record<string, Schema> {
  const name = `collections.${slug}`;
  const bodyWithout = (left: string, members: Record<string, Schema>) => {
    const given = fields.filter((field) => field.name !== left && !Object.hasOwn(members, field.name));
    return objectOf(given, 'create', { ...own, ...members });
  };
  return {
    [`${name}.login`]: closed({ token, user: schemaRef(name) }),
    [`${name}.acceptInvite`]: bodyWithout('email', { token: oneTimeToken, password: newPassword }),
    ...(slug === adminCollection
      ? { [`${name}.firstUser`]: bodyWithout('', { setupToken, password: newPassword }) }
      : {}),
  };
}

/** The body of a write to an auth collection, which may carry a password. */
export function withPassword(body: Schema): Schema {
  return { ...body, properties: { ...(isObject(body.properties) ? body.properties : {}), password: newPassword } };
}
