import type { Webhook, WebhookEvent } from './model.ts';
import { otherWord } from './other-words.ts';
import {
  at,
  checkKeys,
  type Entry,
  entriesOf,
  optionOf,
  own,
  passes,
  type Rule,
  report,
  rules,
  type Spot,
  type TakenNames,
  take,
} from './problems.ts';
import { didYouMean, show, showAll } from './suggest.ts';

/** The events about what is public, and about releases that failed: for a webhook that names no events. */
const publicEvents = [
  'document.created',
  'document.updated',
  'document.deleted',
  'document.restored',
  'document.erased',
  'global.updated',
  'global.restored',
  'release.failed',
] as const satisfies readonly WebhookEvent[];

/** The events about drafts, which a webhook receives only if it names them. */
const draftEvents = [
  'document.draft.created',
  'document.draft.updated',
  'document.draft.restored',
  'document.draft.discarded',
  'global.draft.updated',
  'global.draft.restored',
  'global.draft.discarded',
  'review.requested',
  'review.withdrawn',
  'review.refused',
] as const satisfies readonly WebhookEvent[];

/** The events that a webhook can receive. */
export const webhookEvents: readonly WebhookEvent[] = [...publicEvents, ...draftEvents];

const webhookKeys = ['name', 'url', 'secret', 'collections', 'globals', 'events', 'where', 'allowPrivate'];

/** The slugs of the configured collections and globals. */
type ConfiguredSlugs = { collections: readonly string[]; globals: readonly string[] };

/**
 * Checks the webhooks. No message shows a URL or a secret. Conditions name fields, so they are checked elsewhere,
 * against the schema.
 */
export function checkWebhooks(spot: Spot, known: ConfiguredSlugs): Webhook[] {
  const names: TakenNames = new Map();
  if (!passes(spot, rules.list)) return [];
  return [...entriesOf(spot, 'name')].map((entry) => checkWebhook(entry, names, known));
}

function checkWebhook(spot: Spot<Entry>, names: TakenNames, known: ConfiguredSlugs): Webhook {
  checkKeys(spot, webhookKeys, 'a webhook');
  for (const key of ['name', 'url', 'secret'])
    if (own(spot.value, key) === undefined) report(at(spot, key), 'is missing');
  const name = optionOf(at(spot, 'name'), webhookName, '');
  if (name !== '') take(at(spot, 'name'), names, name);
  const targets = { collections: own(spot.value, 'collections'), globals: own(spot.value, 'globals') };
  const isForAll = targets.collections === undefined && targets.globals === undefined;
  const where = at(spot, 'where');
  return {
    name,
    url: hidden(at(spot, 'url'), webhookUrl),
    secret: hidden(at(spot, 'secret'), webhookSecret),
    collections: isForAll ? '*' : checkSlugs(at(spot, 'collections'), known.collections, 'a collection'),
    globals: isForAll ? '*' : checkSlugs(at(spot, 'globals'), known.globals, 'a global'),
    events: checkWords(at(spot, 'events'), webhookEvents, { what: 'an event of webhooks' }) ?? publicEvents,
    where: passes(where, rules.entry) ? where.value : null,
    allowPrivate: optionOf(at(spot, 'allowPrivate'), rules.boolean, false),
  };
}

/** The name is part of paths and of the header `webhook-id`, whose parts are separated by dots. */
const webhookName: Rule<string> = {
  passes: (value): value is string => typeof value === 'string' && /^[A-Za-z\d][\w-]{0,63}$/.test(value),
  must: 'be 1 to 64 letters, digits, "_" and "-", and begin with a letter or a digit',
};

const webhookUrl: Rule<string> = {
  passes: (value): value is string => typeof value === 'string' && isWebhookUrl(value),
  must: 'be an http or https URL without a user name, password or fragment',
};

function isWebhookUrl(text: string): boolean {
  if (/\s/.test(text) || !URL.canParse(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  return ['http:', 'https:'].includes(protocol) && username === '' && password === '' && hash === '';
}

/** Standard Webhooks requires 24 to 64 bytes. */
const webhookSecret: Rule<string> = {
  passes: (value): value is string => {
    const [, encoded] = /^whsec_([A-Za-z\d+/]+={0,2})$/.exec(typeof value === 'string' ? value : '') ?? [];
    if (encoded === undefined) return false;
    const bytes = Buffer.from(encoded, 'base64');
    return bytes.length >= 24 && bytes.length <= 64 && bytes.toString('base64') === encoded;
  },
  must: 'be "whsec_" and 24 to 64 random bytes in base64, as openssl rand -base64 32 makes them',
};

/** The value of an option that no message shows. */
function hidden(spot: Spot, rule: Rule<string>): string {
  if (spot.value === undefined) return '';
  if (rule.passes(spot.value)) return spot.value;
  report(spot, `must ${rule.must}`);
  return '';
}

function checkSlugs(spot: Spot, slugs: readonly string[], what: string): readonly string[] | '*' {
  return spot.value === '*' ? '*' : (checkWords(spot, slugs, { what, must: "be a list or '*'" }) ?? []);
}

/** The texts of a refusal: the thing that each word names, and the end of "must …" for a value that is not a list. */
type ListTexts = { what: string; must?: string };

/** Checks a list of some of these words; null if it is left out. */
function checkWords<W extends string>(spot: Spot, words: readonly W[], texts: ListTexts): W[] | null {
  const { what, must = 'be a list' } = texts;
  if (!passes(spot, { ...rules.list, must })) return null;
  if (spot.value.length === 0) report(spot, 'must not be empty: leave it out');
  const known: readonly unknown[] = words;
  for (const [index, word] of spot.value.entries()) {
    const item = at(spot, index);
    const allowed = words.length > 0 ? `; allowed: ${showAll(words)}` : '';
    const hint = (typeof word === 'string' && otherWord(what, word)) || didYouMean(word, words);
    if (!known.includes(word)) report(item, `${show(word)} is not ${what}${hint}${allowed}`);
    else if (spot.value.indexOf(word) < index) report(item, `${show(word)} is listed twice`);
  }
  return words.filter((word) => spot.value.includes(word));
}
