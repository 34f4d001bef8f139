import Joi from 'joi';
import { type ApiOperation, ifKnown, ifMatch } from '../openapi/operation.ts';
import { json, ofSchemas, refusals, refusalsForNow } from '../openapi/responses.ts';
import { maxPreferences } from './preferences.ts';

const about = { tag: 'system', caller: { kind: 'user' } } as const;

/** `GET /api/preferences` */
export function readPreferencesOperation(): ApiOperation {
  return {
    ...about,
    id: 'readPreferences',
    summary: 'Read the preferences of the user',
    description:
      "Gives the user's own preferences: a JSON object, which the service does not look into. Empty before the first change.",
    headers: ifKnown,
    answers: {
      200: { ...json('The preferences.', 'Preferences'), headers: ofSchemas },
      304: { description: 'The preferences have not changed: they still have this `ETag`.', headers: ofSchemas },
      ...refusals([400, 500]),
    },
  };
}

/** `PATCH /api/preferences` */
export function changePreferencesOperation(): ApiOperation {
  return {
    ...about,
    id: 'updatePreferences',
    summary: 'Change the preferences of the user',
    description:
      'Applies a JSON merge patch (RFC 7396): objects are merged, `null` removes a member, every other value replaces the ' +
      `former one. The preferences have at most ${maxPreferences} bytes as JSON, and so has the patch. They are not recorded ` +
      'in the log.',
    headers: Joi.object({ 'If-Match': ifMatch }),
    body: 'Preferences',
    isMerge: true,
    answers: {
      200: { ...json('The preferences as they are now.', 'Preferences'), headers: ofSchemas },
      412: json('The preferences are not the ones that `If-Match` names.', 'Error'),
      ...refusals([400, 408, 413, 415, 500]),
      ...refusalsForNow([503]),
    },
  };
}
