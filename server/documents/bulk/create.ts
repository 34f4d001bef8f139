import type { ResponseObject } from '@hapi/hapi';
import { inBody, invalidBody, invalidField } from '../../../config/errors.ts';
import { isObject, type Json, memberOf } from '../../../config/schema.ts';
import { didYouMean, show, showAll } from '../../../config/suggest.ts';
import { isCreation, splitStream } from '../../../events/facts/catalogue.ts';
import { claimsOf, type UniqueField } from '../../../events/facts/claims.ts';
import type { Claim } from '../../../events/facts/log.ts';
import { idIn } from '../../../projections/query/lists.ts';
import type { Bound, Leaf, PathStep } from '../../../projections/query/where.ts';
import { authorizeEither } from '../../access/access.ts';
import { reachOf } from '../../access/list-scope.ts';
import { noteReason } from '../../http/reason.ts';
import { actorOf, madeKeyOf } from '../../http/requests.ts';
import { readQuery } from '../../queries/parameters.ts';
import { resolvePath } from '../../queries/paths.ts';
import { once } from '../concurrency/idempotency.ts';
import { refuseKeyOfDryRun } from '../concurrency/idempotency-key.ts';
import { isDraftAsked } from '../drafts/asking.ts';
import { newSubject, stepsOf, subjectOf } from '../drafts/line-steps.ts';
import { authorizeAnyLine } from '../drafts/rights.ts';
import { hintedValues } from '../write/checked-values.ts';
import { streamOf } from '../write/current.ts';
import { type BulkItemResult, headersIn, resultOf } from './answers.ts';
import { admitAll, type BulkCall, decideAll, type Item, type ItemDecision, recordAll, writeIn } from './items.ts';
import { targetToSearch } from './kinds.ts';
import { charactersOf, type Lister, listerOf, loaded, refuseTooMuch, textsOf, versionAt } from './loading.ts';
import { gatherErrors, refuseClashes, refuseHeld, refuseInvalid } from './refusals.ts';
import { type CreateRequest, queryOf } from './requests.ts';

/**
 * Creates many documents, all or none; with `upsertBy`, documents that exist are changed. A dry run only tells the
 * results: no hook runs, and nothing is recorded.
 */
export async function createMany(bulk: BulkCall, { docs, upsertBy }: CreateRequest): Promise<ResponseObject> {
  const { h, request } = bulk;
  // The rule is asked about each document; if there are none, only here. The rights of a key do not depend on
  // documents.
  const isOfKey = actorOf(request).type === 'apiKey' && upsertBy === null;
  const isDraft = isDraftAsked(bulk);
  if (docs.length === 0 || isOfKey) await authorizeAnyLine(bulk, 'create', isDraft);
  const { dryRun: isDry } = readQuery(queryOf(bulk.target), request.query, bulk.app);
  if (isDry) refuseKeyOfDryRun(request);
  if (upsertBy !== null) return upsertMany(bulk, docs, { key: await keyOf(bulk, upsertBy), isDry });

  const items = docs.map((body, index) => newItem(bulk, { body, index }));

  async function decide(): Promise<ItemDecision[]> {
    const rules = await admitAll(items);
    noteReason(request, bulk.target.model);
    return decideAll(items, rules, isDry);
  }

  if (isDry) return tryOut(bulk, await decide());

  async function create(): Promise<ResponseObject> {
    const decided = await decide();
    const { decisions, batch } = await recordAll(bulk, async () => decided, { bulk: { call: 'create' }, streams: [] });
    return h.response({ results: decisions.map(created), batch }).code(201);
  }

  return once(bulk, create, async (batch, position) => {
    await admitAll(items);
    const headers = headersIn(bulk.app, batch, position);
    const results = headers.map(({ stream, version }, index) => ({ index, id: splitStream(stream)[1], version }));
    return h.response({ results, batch: headers.length > 0 ? batch : null }).code(201);
  });
}

function newItem(bulk: BulkCall, { body, index }: { body: unknown; index: number }): Item {
  const at = `docs.${index}`;
  const write = writeIn(bulk, { operation: 'create', body });
  const line = bulk.target.lines ? { line: { steps: stepsOf(write), subject: newSubject(write) } } : {};
  return { index, at, within: at, id: null, current: null, write, ...line };
}

function created({ item: { index }, id, version }: ItemDecision): Omit<BulkItemResult, 'outcome'> {
  return { index, id, version };
}

/** The unique field by which documents are found, and its path. */
type Key = { name: string; unique: UniqueField; steps: readonly PathStep[]; leaf: Leaf };

/**
 * Reads `upsertBy`. @throws DomainError `validation_failed` unless it names a unique field that the caller may read.
 */
async function keyOf(bulk: BulkCall, name: string): Promise<Key> {
  const reach = await reachOf({ ...bulk, target: await targetToSearch(bulk, isDraftAsked(bulk)) });
  const keys: Key[] = [];
  for (const unique of bulk.target.unique) {
    const name = unique.path.join('.');
    const found = await resolvePath(name, reach);
    if (typeof found !== 'string') keys.push({ name, unique, steps: found.steps, leaf: found.leaf });
  }
  const key = keys.find((one) => one.name === name);
  if (key) return key;
  const names = keys.map((one) => one.name);
  const allowed =
    names.length > 0
      ? `one of ${showAll(names)}, which are unique`
      : 'a unique field, and there are none that you may read';
  throw invalidField(
    inBody('upsertBy', 'not_allowed', { allowed: names }),
    `must be ${allowed}, got ${show(name)}${didYouMean(name, names)}`,
  );
}

/** The answer of a dry run, which has the results of documents that would be created as well. */
function tryOut({ app, h }: BulkCall, decisions: ItemDecision[]): ResponseObject {
  refuseClashes(app, decisions);
  refuseHeld(app, decisions, null);
  return h.response({ results: decisions.map(resultOf), batch: null });
}

async function upsertMany(
  bulk: BulkCall,
  docs: readonly unknown[],
  { key, isDry }: { key: Key; isDry: boolean },
): Promise<ResponseObject> {
  const { app, request, target, h } = bulk;
  const claims = await claimsIn(bulk, docs, key);
  const isDraft = isDraftAsked(bulk);
  const searched = { ...bulk, target: await targetToSearch(bulk, isDraft) };
  const today = listerOf(searched, null);

  async function decide(): Promise<ItemDecision[]> {
    const found = await matchesOf(today, key, claims);
    const currents = target.lines ? null : loaded(target, [...found.values()]);
    if (!currents) refuseTooMuch(charactersOf(target, [...found.values()]));
    const items = docs.map((body, index): Item => {
      const id = found.get(claims[index]?.value ?? '');
      const item = newItem(bulk, { body, index });
      if (id === undefined) return item;
      const write = writeIn(bulk, { operation: 'update', body: without(body, key.name) });
      const subject = currents ? null : subjectOf(write, id);
      const current = subject ? subject.current : (currents?.get(id) ?? null);
      if (!current) return item;
      const line = subject ? { line: { steps: stepsOf(write), subject } } : {};
      return { ...item, id, current, write, asNew: item.write, ...line };
    });
    const rules = await admitAll(items);
    noteReason(request, target.model);
    return decideAll(items, rules, isDry);
  }

  if (isDry) return tryOut(bulk, await decide());

  /** Whether a document with a unique value was created since the search, so that the call has to change it. */
  async function isMoved(claim: Claim, decisions: readonly ItemDecision[]): Promise<boolean> {
    const decision = decisions.find(({ change }) => change?.claims.some((one) => one.value === claim.value));
    const sent = decision && !decision.item.current ? claims[decision.item.index] : undefined;
    return sent !== undefined && (await matchesOf(today, key, [sent])).size > 0;
  }

  async function upsert(): Promise<ResponseObject> {
    const known = await matchesOf(today, key, claims);
    const streams = [...known.values()].map((id) => streamOf(target, id));
    const { decisions, batch } = await recordAll(bulk, decide, { bulk: { call: 'upsert' }, streams, isMoved });
    return h.response({ results: decisions.map(resultOf), batch });
  }

  return once(bulk, upsert, async (batch, position) => {
    if (isDraft && madeKeyOf(request)) await authorizeAnyLine(bulk, 'update', isDraft);
    else await authorizeEither(bulk, 'create', 'update');
    const headers = headersIn(app, batch, position);
    const found = await matchesOf(listerOf(searched, position), key, claims);
    const made = headers.filter(({ type }) => isCreation(type)).values();
    const byId = new Map(headers.map((header) => [splitStream(header.stream)[1], header]));
    const results = claims.map(({ value }, index): BulkItemResult => {
      const id = found.get(value);
      if (id === undefined) {
        const { stream = '', version = 1 } = made.next().value ?? {};
        return { index, id: splitStream(stream)[1], version, outcome: 'created' };
      }
      const version = byId.get(id)?.version;
      if (version !== undefined) return { index, id, version, outcome: 'updated' };
      return { index, id, version: versionAt(bulk, id, position), outcome: 'unchanged' };
    });
    return h.response({ results, batch: headers.length > 0 ? batch : null });
  });
}

/**
 * The values that documents are found by, as the log has them. @throws DomainError `validation_failed` if a value is
 * missing, or comes twice.
 */
async function claimsIn(bulk: BulkCall, docs: readonly unknown[], { name, unique }: Key): Promise<Claim[]> {
  const errors = gatherErrors();
  const first = new Map<string, number>();
  const claims: Claim[] = [];
  for (const [index, doc] of docs.entries()) {
    if (errors.isFull()) break;
    await errors.check(`docs.${index}`, async () => {
      const claim = await claimIn(bulk, doc, unique);
      const other = first.get(claim.value);
      if (other !== undefined) throw invalidField(inBody(name, 'duplicate'), `has the value of docs.${other}.${name}`);
      first.set(claim.value, index);
      claims.push(claim);
    });
  }
  refuseInvalid(errors.all());
  return claims;
}

async function claimIn(bulk: BulkCall, doc: unknown, unique: UniqueField): Promise<Claim> {
  if (!isObject(doc)) throw invalidBody('type', 'the body must be a JSON object');
  const [top = ''] = unique.path;
  const { draftValidator } = bulk.target;
  const validator = (isDraftAsked(bulk) ? draftValidator : null) ?? bulk.target.validator;
  const given = memberOf(doc, top);
  const [claim] =
    given === undefined
      ? []
      : claimsOf([unique], await hintedValues({ ...bulk, validator }, 'update', { [top]: given }));
  if (!claim) throw invalidField(inBody(unique.path.join('.'), 'required'), 'is required: documents are found by it');
  return claim;
}

function without(body: unknown, name: string): unknown {
  return isObject(body) ? Object.fromEntries(Object.entries(body).filter(([key]) => key !== name)) : body;
}

/** The ids of the documents that have these values, by the texts of the claims. */
async function matchesOf(
  list: Lister,
  { unique, steps, leaf }: Key,
  claims: readonly Claim[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (let start = 0; start < claims.length; start += valuesAtOnce) {
    const values = claims.slice(start, start + valuesAtOnce).map(({ value }) => boundOf(JSON.parse(value)));
    for await (const text of textsOf(list, { steps, leaf, operator: 'in', values })) {
      const [claim] = claimsOf([unique], JSON.parse(text));
      if (claim) found.set(claim.value, idIn(text));
    }
  }
  return found;
}

const valuesAtOnce = 100;

function boundOf(value: Json): Bound {
  return typeof value === 'boolean' ? Number(value) : (value as Bound);
}
