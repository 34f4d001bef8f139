import Joi from 'joi';
import { compileBody, schemaOfMembers } from '../../../config/documents.ts';
import { inBody, invalidField } from '../../../config/errors.ts';
import { mustError } from '../../../config/invalid-body.ts';
import type { Model } from '../../../config/model.ts';
import { isObject } from '../../../config/schema.ts';
import { didYouMean, show, showAll } from '../../../config/suggest.ts';
import { readDatetime } from '../../../config/times.ts';

/** The most items that a release may have. */
export const maxItems = 1000;
/** The maximum lengths of texts, in characters. */
const maxTitle = 200;
const maxDescription = 10_000;
/** How many years ahead a release may be planned. */
const maxYears = 5;

/** An item as a caller names it: the slug of a collection and the id of a document, or the slug of a global. */
export type AskedItem = {
  collection?: string;
  id?: string;
  global?: string;
  action: 'publish' | 'unpublish';
  version?: number;
};

/** A time as a caller gives it: `at` is in UTC with milliseconds. */
type AskedTime = { at: string | null; timeZone: string | null };

export type NewReleaseRequest = AskedTime & {
  title: string;
  description: string | null;
  items: AskedItem[];
  publish: boolean;
};

export type ReleaseChangeRequest = { title?: string; description?: string | null };

/** The time zones by their IANA names; a zone may have names that are not among them. */
const zones = Intl.supportedValuesOf('timeZone');

const title = Joi.string()
  .min(0)
  .custom((value: string, helpers) => {
    const text = value.trim();
    const problem = `be one line of 1 to ${maxTitle} characters`;
    if (text === '') return mustError(helpers, { code: 'required', problem });
    if (text.length > maxTitle) return mustError(helpers, { code: 'max_length', problem, limit: maxTitle });
    if (text.isWellFormed() && !/\p{Cc}/u.test(text)) return text;
    return mustError(helpers, { code: 'unsafe_characters', problem });
  });

const description = Joi.string()
  .min(0)
  .custom((value: string, helpers) => {
    if (value.length <= maxDescription && value.isWellFormed()) return value.trim() === '' ? null : value;
    const problem = `be a text of at most ${maxDescription} characters`;
    return mustError(helpers, { code: 'max_length', problem, limit: maxDescription });
  })
  .allow(null);

const at = Joi.string()
  .min(0)
  .custom((value: string, helpers) => {
    const problem = 'be a date and time with a zone such as "2026-12-24T18:00:00+01:00"';
    return readDatetime(value) ?? mustError(helpers, { code: 'format', problem });
  });

const timeZone = Joi.string()
  .min(0)
  .custom((value: string, helpers) => {
    if (isTimeZone(value)) return value;
    const problem = `be the IANA name of a time zone such as "Europe/Berlin", got ${show(value)}${didYouMean(value, zones)}`;
    return mustError(helpers, { code: 'not_allowed', problem });
  })
  .allow(null)
  .default(null);

/** The readers of the bodies about releases. Each throws InvalidBody with every wrong member. */
export function compileReleaseRequests(model: Pick<Model, 'collections' | 'globals'>) {
  const items = Joi.array()
    .items(itemOf(model))
    .custom((value: AskedItem[], helpers) => {
      if (value.length > maxItems)
        return mustError(helpers, { code: 'max_items', problem: `have at most ${maxItems} items`, limit: maxItems });
      const names = value.map(nameOf);
      const twice = names.find((name, index) => names.indexOf(name) < index);
      return twice === undefined
        ? value
        : mustError(helpers, { code: 'duplicate', problem: `name each document once, got ${twice} twice` });
    });
  const newRelease = compileBody<NewReleaseRequest>(
    schemaOfMembers({
      title: title.required(),
      description: description.default(null),
      at: at.allow(null).default(null),
      timeZone,
      items: items.default([]),
      publish: Joi.boolean().strict().default(false),
    }),
  );
  return {
    change: compileBody<ReleaseChangeRequest>(schemaOfMembers({ title, description })),
    items: compileBody<{ items: AskedItem[] }>(schemaOfMembers({ items: items.required() })),
    schedule: compileBody<AskedTime & { at: string }>(schemaOfMembers({ at: at.required(), timeZone })),
    newRelease(body: unknown): NewReleaseRequest {
      const asked = newRelease(body);
      if (asked.publish && asked.at !== null)
        throw invalidField(
          inBody('publish', 'contradiction'),
          'does not go with at: the one publishes now, the other later',
        );
      if (asked.timeZone !== null && asked.at === null)
        throw invalidField(inBody('timeZone', 'contradiction'), 'needs at, the time that it is for');
      return asked;
    },
  };
}

/** A time for one document. */
export type PlanRequest = AskedTime & { at: string; version?: number };

const readPublishing = compileBody<PlanRequest>(schemaOfMembers({ at: at.required(), timeZone, version: version() }));
const readUnpublishing = compileBody<PlanRequest>(schemaOfMembers({ at: at.required(), timeZone }));

/** Reads the body of a publication, or of its end, for a later time. @throws DomainError `validation_failed`. */
export function readPlan(body: unknown, action: AskedItem['action']): PlanRequest {
  if (isObject(body) && body.data !== undefined)
    throw invalidField(inBody('data', 'contradiction'), 'does not go with at: save the values in the draft first');
  return action === 'publish' ? readPublishing(body) : readUnpublishing(body);
}

/** A document of an item as errors name it: `posts/<id>`, `globals/<slug>`. */
function nameOf({ collection, id, global }: AskedItem): string {
  return global === undefined ? `${collection}/${id}` : `globals/${global}`;
}

/**
 * The time of a release. @param now milliseconds since the epoch.
 * @throws DomainError `validation_failed` for a time that is past, or too far ahead.
 */
export function plannedTime({ at, timeZone }: AskedTime & { at: string }, now: number, name = 'at') {
  const time = Date.parse(at);
  const latest = new Date(now);
  latest.setUTCFullYear(latest.getUTCFullYear() + maxYears);
  if (time <= now) throw invalidField(inBody(name, 'out_of_range'), `must be in the future, got ${show(at)}`);
  if (time > latest.getTime())
    throw invalidField(inBody(name, 'out_of_range'), `must be within ${maxYears} years from now, got ${show(at)}`);
  return { at: time, timeZone };
}

function itemOf({ collections, globals }: Pick<Model, 'collections' | 'globals'>): Joi.Schema {
  const withDrafts = (targets: Pick<Model, 'collections' | 'globals'>['globals' | 'collections']) =>
    [...targets.values()].filter(({ drafts }) => drafts !== null).map(({ slug }) => slug);
  return schemaOfMembers({
    collection: slugIn(withDrafts(collections), 'collection'),
    id: Joi.string(),
    global: slugIn(withDrafts(globals), 'global'),
    action: Joi.valid('publish', 'unpublish').default('publish'),
    version: version(),
  }).custom((value: AskedItem, helpers) => {
    const wrong = wrongIn(value);
    return wrong === null ? value : mustError(helpers, { code: 'contradiction', problem: wrong });
  });
}

function version(): Joi.Schema {
  return Joi.number()
    .strict()
    .custom((value: number, helpers) => {
      const problem = 'be a whole number from 1';
      return Number.isSafeInteger(value) && value >= 1 ? value : mustError(helpers, { code: 'min', problem, limit: 1 });
    });
}

function wrongIn({ collection, id, global, action, version }: AskedItem): string | null {
  if ((collection === undefined) === (global === undefined)) return 'name a collection or a global, one of them';
  if ((collection === undefined) !== (id === undefined)) return 'have an id if it names a collection, and only then';
  if (action === 'unpublish' && global !== undefined)
    return 'not unpublish a global: a global always has a public state';
  if (action === 'unpublish' && version !== undefined) return 'have a version only to publish it';
  return null;
}

function slugIn(slugs: readonly string[], what: string): Joi.Schema {
  return Joi.string()
    .min(0)
    .custom((value: string, helpers) => {
      if (slugs.includes(value)) return value;
      const allowed = slugs.length === 0 ? `no ${what} has drafts` : `allowed: ${showAll(slugs)}`;
      const problem = `be the slug of a ${what} with drafts, got ${show(value)}${didYouMean(value, slugs)}; ${allowed}`;
      return mustError(helpers, { code: 'not_allowed', problem, allowed: slugs });
    });
}

function isTimeZone(name: string): boolean {
  // Offsets such as +01:00 are no names of zones.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== null;
  } catch {
    return false;
  }
}
