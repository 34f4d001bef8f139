import { cutField, inBody, invalidBody, invalidField, invalidFields } from '../../../config/errors.ts';
import { isObject, type JsonObject, memberOf } from '../../../config/schema.ts';
import { didYouMean, show } from '../../../config/suggest.ts';

/** The state that a call publishes: the draft with new values, or the draft of an earlier version of the document. */
export type WantedPublication = { data: JsonObject | null; version: number | null };

const names = ['data', 'version'] as const;
/** With these members it is for a later time, and is read elsewhere. */
const laterNames = ['at', 'timeZone'] as const;

/** Reads the body of a publication; it may be empty. @throws DomainError `validation_failed` naming what is wrong. */
export function readPublication(body: unknown): WantedPublication {
  const given = readMembers(body, names);
  const { data = null, version = null } = given;
  if (data !== null && !isObject(data))
    throw invalidField(inBody('data', 'type'), `must be an object with values of fields, got ${show(data)}`);
  if (version !== null && (typeof version !== 'number' || !Number.isSafeInteger(version)))
    throw invalidField(inBody('version', 'type'), `must be a whole number from 1, got ${show(version)}`);
  if (version !== null && version < 1)
    throw invalidField(inBody('version', 'min', { limit: 1 }), `must be a whole number from 1, got ${version}`);
  if (data !== null && version !== null) {
    const message = 'data must not stand beside version: values are saved in the newest draft';
    throw invalidFields([{ ...inBody('data', 'contradiction'), message }]);
  }
  return { data, version };
}

/** Checks the body of a call that has none: absent, or an empty object. */
export function refuseMembers(body: unknown): void {
  readMembers(body, []);
}

function readMembers(body: unknown, allowed: readonly string[]): JsonObject {
  if (body === null || body === undefined) return {};
  if (!isObject(body)) throw invalidBody('type', 'the body must be a JSON object');
  const unknown = Object.keys(body).find((name) => !allowed.includes(name));
  if (unknown === undefined) return Object.fromEntries(allowed.flatMap((name) => memberIn(body, name)));
  const problem =
    unknown === 'locales'
      ? 'must not be given: no languages are configured'
      : `is not a field${didYouMean(unknown, allowed.length > 0 ? [...allowed, ...laterNames] : [])}`;
  throw invalidField(inBody(cutField(unknown), 'unknown_field'), problem);
}

function memberIn(body: JsonObject, name: string) {
  const value = memberOf(body, name);
  return value === undefined ? [] : [[name, value] as const];
}
