import Joi from 'joi';
import { maxKeys, maxOverlapSeconds } from '../../../config/api-keys.ts';
import type { AdmittedCallers } from '../../openapi/callers.ts';
import { type ApiOperation, headersOfSecret, reason } from '../../openapi/operation.ts';
import {
  created,
  type DescribedAnswers,
  json,
  orInUse,
  refusalForNow,
  refusalOfOther,
  refusals,
  replayable,
} from '../../openapi/responses.ts';
import { pageParameters } from '../../queries/pages.ts';

const tag = 'system';
const caller: AdmittedCallers = { kind: 'manager' };
const params = Joi.object({
  id: Joi.string()
    .pattern(/^[\da-f]{16}$/)
    .required()
    .description('The id of the key.'),
});
const headers = Joi.object({ 'X-Change-Reason': reason });
const noKey: DescribedAnswers = { 404: json('There is no such key, or it is revoked.', 'Error') };

/** `GET /api/keys` */
export function listKeysOperation(): ApiOperation {
  return {
    id: 'listKeys',
    tag,
    summary: 'List the API keys',
    description:
      'Returns a page of the keys that were made at run time and are not revoked, oldest first, without their secrets.',
    query: pageParameters,
    answers: { 200: json('A page of keys.', 'ApiKeys'), ...refusals([400, 500]) },
    caller,
  };
}

/** `GET /api/keys/{id}` */
export function readKeyOperation(): ApiOperation {
  return {
    id: 'readKey',
    tag,
    summary: 'Read an API key',
    description: 'Returns a key as the list shows it, without its secret.',
    params,
    answers: { 200: json('The key.', 'ApiKey'), ...noKey, ...refusals([400, 500]) },
    caller,
  };
}

/** `POST /api/keys` */
export function createKeyOperation(): ApiOperation {
  return {
    id: 'createKey',
    tag,
    summary: 'Make an API key',
    description:
      'Makes a key with the rights of its scopes; a key without scopes may do nothing. Only this answer shows the `secret`, ' +
      `for the header \`x-api-key\`. There may be ${maxKeys} keys. A user can give a key only rights that the user has for ` +
      'every document; otherwise a 403 names the scope. Only keys of the environment can give `*`, which includes ' +
      'collections and globals that are added later.',
    headers: headersOfSecret,
    body: 'NewApiKey',
    answers: {
      201: replayable(created(json('The key, with its secret.', 'ApiKeyWithSecret'))),
      ...refusals([400, 408, 413, 415, 500]),
      409: json(`The number of keys is at its limit, or other writers keep changing keys. ${orInUse}`, 'Error'),
      ...refusalOfOther,
      ...refusalForNow,
    },
    caller,
  };
}

/** `DELETE /api/keys/{id}` */
export function revokeKeyOperation(): ApiOperation {
  return {
    id: 'revokeKey',
    tag,
    summary: 'Revoke an API key',
    description: 'Ends a key for good, with all its secrets: after the answer every request with it is refused.',
    params,
    headers,
    answers: {
      200: json('The key as it was.', 'ApiKey'),
      ...noKey,
      ...refusals([400, 500]),
      409: json('Other writers keep changing keys.', 'Error'),
      ...refusalForNow,
    },
    caller,
  };
}

/** `POST /api/keys/{id}/rotate` */
export function rotateKeyOperation(): ApiOperation {
  return {
    id: 'rotateKey',
    tag,
    summary: 'Give an API key a new secret',
    description:
      'Makes a new secret for a key, which keeps its id and rights. The previous secret is refused after `overlapSeconds` (at ' +
      `most ${maxOverlapSeconds}, which is 7 days); by default, and without a body, at once. An older secret is refused from ` +
      'now on. A user may do so only with a key whose rights the user has.',
    params,
    headers: headersOfSecret,
    body: 'ApiKeyRotation',
    isBodyOptional: true,
    answers: {
      200: replayable(json('The key, with its new secret.', 'ApiKeyWithSecret')),
      ...noKey,
      ...refusals([400, 408, 413, 415, 500]),
      409: json(`The key has expired, or other writers keep changing keys. ${orInUse}`, 'Error'),
      ...refusalOfOther,
      ...refusalForNow,
    },
    caller,
  };
}
