import Joi from 'joi';
import { forAuditors, unknownToLog } from '../openapi/audit/responses.ts';
import type { ApiOperation } from '../openapi/operation.ts';
import { json } from '../openapi/responses.ts';
import { blameParameters, diffParameters, historyParameters, versionParameters } from './event-query.ts';
import type { StreamKind } from './subjects.ts';

const params: Record<StreamKind, Joi.ObjectSchema> = {
  document: Joi.object({ slug: slugOf('the collection'), id: idOf('the document') }),
  global: Joi.object({ slug: slugOf('the global') }),
  account: Joi.object({
    slug: slugOf('the collection of users'),
    id: idOf('the user; `setup` for the first users that the collection was set up with'),
  }),
  invitation: Joi.object({ slug: slugOf('the collection of users'), id: idOf('the invitation') }),
};
const version = Joi.number().integer().min(1).required().description('The version, from 1.');
const unknownSubject = (name: StreamKind) => unknownToLog(`The log has nothing about ${article(name)}.`);

/** `GET /api/audit/<what>/…`: the versions of a document, global, account or invitation. */
export function historyOperation(name: StreamKind): ApiOperation {
  return forAuditors({
    id: `audit_${name}History`,
    tag: 'histories',
    summary: `List the versions of ${article(name)}`,
    description:
      'Returns one version for each event, oldest first: the author, the action and the time; with the scope `payloads` also ' +
      'the reason, and which fields changed. Deleted subjects are included. To go on, send `next` as the parameter `next`.',
    params: params[name],
    query: historyParameters,
    answers: {
      200: json('A page of versions, oldest first.', `${capital(name)}History`),
      ...unknownSubject(name),
    },
  });
}

/** `GET …/versions/{version}` */
export function versionOperation(name: StreamKind): ApiOperation {
  const isDocument = name === 'document' || name === 'global';
  return forAuditors({
    ...ofPayloads(name, 'Version'),
    summary: `Read one version of ${article(name)}, and its event`,
    description: isDocument
      ? 'Returns the event as it was recorded, and the whole document after it, in the names and fields of that time. It takes the ' +
        'scope `payloads`.'
      : 'Returns the event as it was recorded. Needs the scope `payloads`.',
    params: params[name].append({ version }),
    query: versionParameters,
    answers: {
      200: json('The version.', isDocument ? 'DocumentThen' : 'AccountThen'),
      ...unknownToLog(`The log has nothing about ${article(name)}, or no such version.`),
    },
  });
}

/** `GET …/versions/{version}/access` */
export function admissionOperation(name: StreamKind): ApiOperation {
  return forAuditors({
    ...ofPayloads(name, 'Access'),
    summary: `Read who made a version of ${article(name)}, and which rule allowed it`,
    description:
      'Returns the author, the user document right before the event, and the rule that admitted it: its name, and its hash ' +
      'and the description by its author as recorded at that time. Needs the scope `payloads`.',
    params: params[name].append({ version }),
    query: versionParameters,
    answers: {
      200: json('The author, and the rule.', 'Admission'),
      ...unknownToLog(`The log has nothing about ${article(name)}, or no such version.`),
    },
  });
}

/** `GET …/diff` */
export function diffOperation(name: StreamKind): ApiOperation {
  return forAuditors({
    ...ofPayloads(name, 'Diff'),
    summary: `Compare two versions of ${article(name)}`,
    description:
      'Returns each field that differs with both values, and a JSON Patch (RFC 6902) from one version to the other, with the ' +
      'field names of today. Needs the scope `payloads`.',
    params: params[name],
    query: diffParameters,
    answers: {
      200: json('The differences, with the field names of today.', `${capital(name)}Diff`),
      ...unknownSubject(name),
    },
  });
}

/** `GET …/blame` */
export function blameOperation(name: StreamKind): ApiOperation {
  return forAuditors({
    ...ofPayloads(name, 'Blame'),
    summary: `List the event that set each field of ${article(name)}`,
    description:
      'Returns every field of a version with the event that gave it its value: the person to ask about it. It takes the scope ' +
      '`payloads`.',
    params: params[name],
    query: blameParameters,
    answers: { 200: json('Its fields.', `${capital(name)}Blame`), ...unknownSubject(name) },
  });
}

function ofPayloads(name: StreamKind, what: string): Pick<ApiOperation, 'id' | 'tag' | 'caller'> {
  return { id: `audit_${name}${what}`, tag: 'histories', caller: { kind: 'auditor', refusesKeys: true } };
}

function slugOf(what: string): Joi.Schema {
  return Joi.string().min(1).required().description(`The slug of ${what}, current or former.`);
}

function idOf(what: string): Joi.Schema {
  return Joi.string().min(1).required().description(`The id of ${what}.`);
}

function article(name: string): string {
  return /^[ai]/.test(name) ? `an ${name}` : `a ${name}`;
}

function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
