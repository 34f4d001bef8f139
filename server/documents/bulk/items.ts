import type { ResponseToolkit } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import type { Collection } from '../../../config/model.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { decideNothing } from '../../../events/facts/accounts.ts';
import { type Current, decideCreate, decideDelete } from '../../../events/facts/documents.ts';
import type { Context } from '../../../events/facts/envelope.ts';
import type { Change, Claim } from '../../../events/facts/log.ts';
import type { ReleaseSubject } from '../../../events/facts/releases.ts';
import { authorize, mayRead } from '../../access/access.ts';
import { checkFieldsWritable } from '../../access/field-access.ts';
import type { App, Call, RouteCall, Target } from '../../app.ts';
import { yieldToEventLoop } from '../../platform/yield.ts';
import { followLine } from '../drafts/answers.ts';
import { type LineSteps, type LineSubject, newSubject, stepsOf, validatorOf } from '../drafts/line-steps.ts';
import { maySee } from '../drafts/rights.ts';
import { isDraftWrite } from '../drafts/targets.ts';
import { beforeDelete, type HookContext, runAfterHooks } from '../hooks.ts';
import { pastValues } from '../past/restore-plan.ts';
import { serializerFor } from '../read/serialize.ts';
import { releaseRemovals } from '../releases/removal.ts';
import { hookedValues, validValues } from '../write/checked-values.ts';
import { streamOf } from '../write/current.ts';
import { accounts } from '../write/passwords.ts';
import { beforeAppend, recorded, type Writable, type Write, writeOf } from '../write/write-steps.ts';
import { writeMany } from '../write/writes.ts';
import { decideValues } from '../write/written.ts';
import {
  gatherErrors,
  refusalOfHook,
  refuseClashes,
  refusedOf,
  refuseFields,
  refuseHeld,
  refuseImpossible,
  refuseInvalid,
} from './refusals.ts';

/** One document of a bulk call. */
export type Item = {
  /** Its index in the call, from 0. */
  index: number;
  /** Its name in errors: `docs.3`, `ids.3`, `where`. */
  at: string;
  /** The path of its fields in the body: `docs.3`, `data`. */
  within: string;
  /** Null for a document that is to be created. */
  id: string | null;
  /** Null for a document that is to be created. */
  current: Current | null;
  /** The write of this document alone. */
  write: Write;
  /** The steps of the write, where there are drafts. */
  line?: { steps: LineSteps; subject: LineSubject };
  /**
   * The same as the write of a new document; set if the caller found the document by its content, and so must be
   * allowed to read it. If the caller may not, the answer is the refusal of this write, if it is refused: another
   * refusal would tell that the document exists.
   */
  asNew?: Write;
  /** The earlier state that the values come from: the caller must be allowed to read it. */
  past?: { document: JsonObject; position: number };
};

/**
 * The decision on one document: `change` is null if the document stays as it is; `version` and `document` are those
 * after the decision.
 */
export type ItemDecision = {
  item: Item;
  id: string;
  change: Change | null;
  /** Changes of other streams that are recorded with the decision. */
  also: Change[];
  hookContext: HookContext;
  document: JsonObject;
  version: number;
  /** Runs the hooks that follow the decision, once it is recorded; absent for those of an ordinary write. */
  finish?: () => Promise<unknown>;
};

/** After this many documents other requests go on. */
const atOnce = 25;

/**
 * How single documents of a collection are written in a bulk call. The headers and the idempotency key belong to the
 * call, so the steps for these are left out.
 */
export function writableOf(app: App, target: Target<Collection>): Writable<Collection> {
  const steps = target.model.auth ? [accounts] : [];
  return { app, target, present: serializerFor(app, target), read: unread, steps };
}

function unread(): never {
  throw new Error('the body of a bulk call is read once, not for each document');
}

/** A call about many documents of a collection, whose body has been read. */
export type BulkCall = Call<Collection> & { h: ResponseToolkit; writable: Writable<Collection>; body: unknown };

/** The write of one document of a bulk call. */
export function writeIn(
  { writable, h }: Pick<BulkCall, 'writable' | 'h'>,
  { operation, body, lines }: Pick<Write, 'operation' | 'body'> & Partial<Pick<Write, 'lines'>>,
): Write {
  return writeOf(writable, h, { operation, body, upload: null, data: body, ...(lines ? { lines } : {}) });
}

/** Runs for one after the other, and lets other requests go on now and then. */
async function sequentially<T>(all: readonly T[], run: (one: T) => Promise<void>): Promise<void> {
  for (const [count, one] of all.entries()) {
    if (count % atOnce === atOnce - 1) await yieldToEventLoop();
    await run(one);
  }
}

/**
 * Asks the rules about every document, before anything else is checked.
 *
 * @returns the rule that admits each document.
 * @throws DomainError `unauthorized`; `forbidden` naming the first refused documents.
 */
export async function admitAll(items: readonly Item[]): Promise<Map<Item, string | undefined>> {
  const rules = new Map<Item, string | undefined>();
  const refused: Item[] = [];
  await sequentially(items, async (item) => {
    const { write, current, asNew, past } = item;
    const seen = isDraftWrite(write) ? 'draft' : 'public';
    if (asNew && current && !(await maySee(write, seen, current.document))) {
      refused.push((await isAdmitted(() => admitNew(asNew))) ? item : { ...item, write: asNew });
    } else if (
      (!past || (await mayRead(write, past.document, past.position))) &&
      (await isAdmitted(() => admit(item)))
    ) {
      rules.set(item, write.request.app.rule);
    } else refused.push(item);
  });
  if (refused.length > 0) throw refusedOf(refused, items);
  return rules;
}

async function admit({ write, current, line }: Item): Promise<void> {
  if (line) return line.steps.admit(line.subject);
  await authorize(write, write.operation, { doc: () => current?.document ?? null, data: write.data });
}

async function admitNew(write: Write): Promise<void> {
  if (write.lines) return stepsOf(write).admit(newSubject(write));
  await authorize(write, write.operation, { doc: () => null, data: write.data });
}

async function isAdmitted(ask: () => Promise<void>): Promise<boolean> {
  try {
    await ask();
    return true;
  } catch (error) {
    if (error instanceof DomainError && error.code === 'forbidden') return false;
    throw error;
  }
}

/**
 * Decides on documents whose caller is admitted: all documents are checked before a hook runs.
 *
 * @param isDry no hook runs, and nothing is prepared for a change.
 * @throws DomainError `forbidden` or `validation_failed` naming the fields; what a hook throws.
 */
export async function decideAll(
  items: readonly Item[],
  rules: ReadonlyMap<Item, string | undefined>,
  isDry = false,
): Promise<ItemDecision[]> {
  const values = await checkedAll(items);
  await admitValuesOfAll(items, values);
  const decisions: ItemDecision[] = [];
  // A draft that cannot be published is told with the others; a hook that refuses ends the call.
  const wrong = gatherErrors();
  const impossible = gatherErrors('conflict');

  async function decide(item: Item): Promise<void> {
    const decided = await decideOne(item, values.get(item) ?? {}, isDry).catch((error: unknown) => {
      throw refusalOfHook(error, item);
    });
    const rule = rules.get(item);
    if (decided.change && rule !== undefined) decided.change.rule = rule;
    decisions.push(decided);
  }

  await sequentially(items, async (item) => {
    if (item.line?.steps.hasValues !== false) return decide(item);
    if (wrong.isFull() || impossible.isFull()) return;
    await impossible.check(item.at, () => wrong.check(item.within, () => decide(item)));
  });
  refuseInvalid(wrong.all());
  refuseImpossible(impossible.all());
  return decisions;
}

/** Asks the rules about every document as the values would make it. @throws DomainError `forbidden`. */
async function admitValuesOfAll(items: readonly Item[], values: ReadonlyMap<Item, JsonObject>): Promise<void> {
  const refused: Item[] = [];
  await sequentially(items, async (item) => {
    const { steps, subject } = item.line ?? {};
    if (!steps?.admitValues || !subject) return;
    const isPassed = await isAdmitted(async () => steps.admitValues?.(subject, values.get(item) ?? {}));
    if (!isPassed) refused.push(item);
  });
  if (refused.length > 0) throw refusedOf(refused, items, true);
}

async function checkedAll(items: readonly Item[]): Promise<Map<Item, JsonObject>> {
  const written = items.filter(({ write, line }) => line?.steps.hasValues ?? write.operation !== 'delete');
  const unwritable = gatherErrors('forbidden');
  await sequentially(written, (item) => {
    const sent = { body: item.write.body, doc: item.current?.document ?? null, isPast: item.past !== undefined };
    return unwritable.check(item.within, () => checkFieldsWritable(item.write, operationOf(item), sent));
  });
  refuseFields(unwritable.all());

  const values = new Map<Item, JsonObject>();
  const wrong = gatherErrors();
  await sequentially(written, async (item) => {
    if (wrong.isFull()) return;
    await wrong.check(item.within, async () => {
      values.set(item, await valuesOf(item));
    });
  });
  refuseInvalid(wrong.all());
  return values;
}

/** The values to write, checked; past values may keep the ids of documents that were deleted since. */
function valuesOf(item: Item): Promise<JsonObject> {
  const { write, past } = item;
  return past
    ? pastValues(write, operationOf(item), write.body as JsonObject)
    : validValues(contextOf(item), write.body, validatorOf(write));
}

function operationOf({ write: { operation } }: Item): 'create' | 'update' {
  return operation === 'create' ? 'create' : 'update';
}

function contextOf(item: Item): HookContext & { operation: 'create' | 'update' } {
  const { write, current } = item;
  const { app, request, target } = write;
  return { app, request, target, operation: operationOf(item), doc: current?.document ?? null };
}

async function decideOne(item: Item, checked: JsonObject, isDry: boolean): Promise<ItemDecision> {
  const { app, request, target, operation } = item.write;
  const { id: next, at } = app.ids.next();
  const { id, current } = item;
  let decided: Omit<ItemDecision, 'also'>;
  if (item.line) decided = await decideLineOf(item, item.line, { checked, isDry });
  else if (id === null || !current) {
    const hookContext = contextOf(item);
    const change = decideCreate(target, next, {
      at,
      values: isDry ? checked : await hookedValues(hookContext, checked),
    });
    const document = target.documentOf(next, change.events[0]?.data ?? {});
    decided = { item, id: next, change, hookContext, document, version: 1 };
  } else if (operation === 'delete') {
    const { document, version } = current;
    const hookContext = { app, request, target, operation, doc: document };
    if (!isDry) await beforeDelete(hookContext, document);
    decided = { item, id, change: decideDelete(target, id, current), hookContext, document, version: version + 1 };
  } else {
    const hookContext = contextOf(item);
    const values = isDry ? checked : await hookedValues(hookContext, checked);
    const change = await decideValues(item.write, id, { current, values });
    const set = change?.events[0]?.data.set as JsonObject | undefined;
    const document = target.documentOf(id, { ...current.document, ...set });
    decided = { item, id, change, hookContext, document, version: current.version + (change ? 1 : 0) };
  }
  return { ...decided, also: isDry ? [] : await prepared(item, decided) };
}

async function decideLineOf(
  item: Item,
  { steps, subject }: NonNullable<Item['line']>,
  { checked, isDry }: { checked: JsonObject; isDry: boolean },
): Promise<Omit<ItemDecision, 'also'>> {
  const { write, id } = subject;
  const decision = await steps.decide(subject, checked, isDry);
  const { change, after, hookContext } = decision;
  const document = write.target.documentOf(id, after.draft ?? hookContext.doc ?? {});
  return {
    item,
    id,
    change,
    hookContext,
    document,
    version: after.head,
    finish: () => followLine(subject, decision),
  };
}

function prepared(item: Item, { id, change }: Pick<ItemDecision, 'id' | 'change'>): Promise<Change[]> {
  const { write, current, line } = item;
  const version = line ? line.subject.now.head : (current?.version ?? 0);
  return change ? beforeAppend(write, { id, change, version }) : Promise.resolve([]);
}

/** The result of a bulk call: its decisions, and the id in each of its events; null if nothing was recorded. */
type BulkRecord = { decisions: ItemDecision[]; batch: string | null };

/** How decisions are recorded. */
type Recording = {
  /** The kind of the call, and the batch that it undoes, for its events. */
  bulk: Pick<Context, 'call' | 'undoes'>;
  /** The streams that are known to change. */
  streams: readonly string[];
  /** Whether a document that was new has been created by others meanwhile: then the call decides anew. */
  isMoved?: (claim: Claim, decisions: readonly ItemDecision[]) => Promise<boolean>;
};

/**
 * Records decisions in one append, all of them or none, and runs what follows a write.
 *
 * @throws DomainError `conflict` naming the unique values that are taken.
 */
export async function recordAll(
  call: RouteCall,
  decide: () => Promise<ItemDecision[]>,
  { bulk, streams, isMoved = async () => false }: Recording,
): Promise<BulkRecord> {
  const { app } = call;
  call.request.app.bulk = bulk;
  const result = await writeMany(call, streams, async () => {
    const decisions = await decide();
    refuseClashes(app, decisions);
    const { id: batch } = app.ids.next();
    const changes = [
      ...decisions.flatMap((decision) => [decision.change ?? unchanged(decision), ...decision.also]),
      ...releaseRemovals(app, endedBy(decisions)),
    ];
    const isChanged = decisions.some(({ change }) => change !== null);
    return {
      changes,
      batch,
      answer: { decisions, batch: isChanged ? batch : null },
      refuse: async (claim) => {
        if (!(await isMoved(claim, decisions))) refuseHeld(app, decisions, claim);
      },
    };
  });
  const changed = result.decisions.filter(({ change }) => change !== null);
  await sequentially(changed, ({ item }) => recorded(item.write));
  await sequentially(changed, async ({ item, hookContext, document, finish }) => {
    const kind = item.write.operation === 'delete' ? 'afterDelete' : 'afterChange';
    await (finish ? finish() : runAfterHooks(hookContext, kind, document));
  });
  return result;
}

/** The documents with drafts that decisions end: the others are in no release. */
function endedBy(decisions: readonly ItemDecision[]): ReleaseSubject[] {
  return decisions.flatMap(({ item: { write }, id, change }) => {
    const { lines, category } = write.target;
    return lines && change && write.operation === 'delete' ? [{ category, id }] : [];
  });
}

/** An unchanged document must still be unchanged when the others are recorded. */
function unchanged({ item, id, version }: ItemDecision): Change {
  return decideNothing(streamOf(item.write.target, id), version);
}
