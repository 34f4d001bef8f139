import type { ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import type { Collection } from '../../../config/model.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { show } from '../../../config/suggest.ts';
import { hasChangeHooks } from '../../../config/traits.ts';
import { releaseIdOf, splitStream } from '../../../events/facts/catalogue.ts';
import { decideRestore } from '../../../events/facts/documents.ts';
import type { AuditRights } from '../../access/rights.ts';
import type { RouteCall, Target } from '../../app.ts';
import {
  answerOf,
  type BulkItemResult,
  headersIn,
  outcomeOfUndo,
  pastResults,
  undoneResultOf,
} from '../../documents/bulk/answers.ts';
import {
  admitAll,
  decideAll,
  type Item,
  type ItemDecision,
  recordAll,
  writableOf,
  writeIn,
} from '../../documents/bulk/items.ts';
import {
  gatherErrors,
  refusalOfHook,
  refuseClashes,
  refusedOf,
  refuseHeld,
  refuseInvalid,
} from '../../documents/bulk/refusals.ts';
import { flagOf, membersOf } from '../../documents/bulk/requests.ts';
import { once } from '../../documents/concurrency/idempotency.ts';
import { refuseKeyOfDryRun } from '../../documents/concurrency/idempotency-key.ts';
import { beforeChange } from '../../documents/hooks.ts';
import { planOf, type RestorePlan } from '../../documents/past/restore-plan.ts';
import type { Writable } from '../../documents/write/write-steps.ts';
import { noteReason } from '../../http/reason.ts';
import { yieldToEventLoop } from '../../platform/yield.ts';
import { readQuery } from '../../queries/parameters.ts';
import { dryRunParameter } from '../../queries/query.ts';
import { spanOf } from '../events.ts';
import { decideLines, type LinesStep } from './lines.ts';
import { stepsOf, type UndoStep, type UndoSubject } from './steps.ts';

/** The undoing of a bulk call: `isForced`: also of documents that have changed since. */
type Undoing = { batch: string; isForced: boolean };

/**
 * Reads the body; without one, nothing is forced. @throws DomainError `validation_failed` naming what is wrong with it.
 */
export function readUndo(body: unknown): Omit<Undoing, 'batch'> {
  const { force } = membersOf(body === undefined ? {} : body, ['force']);
  return { isForced: flagOf('force', force) };
}

/** A request to undo a bulk call, whose body has been read. */
type UndoCall = RouteCall & { h: ResponseToolkit; rights: AuditRights; body: unknown };

/**
 * Undoes a bulk call in a new bulk call, all of it or nothing: deletes what it created, restores what it deleted, and
 * gives changed fields their former values. A dry run returns what that would do, without hooks, and records
 * nothing.
 *
 * @throws DomainError as writes do; `not_found`; `conflict` if documents were changed since, unless it is forced.
 */
export async function undo(call: UndoCall, { batch, isForced }: Undoing): Promise<ResponseObject> {
  const { app, request, h, rights } = call;
  const { dryRun: isDry } = readQuery(dryRunParameter, request.query, app);
  if (isDry) refuseKeyOfDryRun(request);
  const span = spanOf(app, batch);
  if (!span) throw new DomainError('not_found', `there is no bulk call ${show(batch)}`);
  // The event of the release itself stays: it was published.
  const headers = headersIn(app, batch, span.first - 1).filter(({ stream }) => releaseIdOf(stream) === null);
  const streams = [...new Set(headers.map(({ stream }) => stream))];
  const writables = new Map<Target, Writable<Collection>>();

  function entryOf({ subject, step }: { subject: UndoSubject; step: UndoStep }, index: number): Entry {
    const { at, target, id, current } = subject;
    const writable = writables.get(target) ?? writableOf(app, target);
    writables.set(target, writable);
    const operation = operationOf(step);
    const write = writeIn({ writable, h }, { operation, body: step?.kind === 'update' ? step.values : null });
    const past = step?.kind === 'update' ? { past: step.past } : {};
    return { step, subject, item: { index, at, within: at, id, current, write, ...past } };
  }

  async function decide(): Promise<ItemDecision[]> {
    const entries = (await stepsOf(app, headers, { rights, isForced })).map(entryOf);
    const restoring = entries.filter(isRestore);
    const others = entries.filter(({ step }) => step?.kind === 'delete' || step?.kind === 'update');
    const items = others.map(({ item }) => item);
    const rules = await admitAll(items);
    for (const { model } of new Set(entries.map(({ subject }) => subject.target))) noteReason(request, model);
    const plans = await plansOf(restoring);
    const decisions = await decideAll(items, rules, isDry);
    for (const entry of restoring) decisions.push(await decideRestoring(entry, plans.get(entry), isDry));
    decisions.push(...(await decideAllLines(entries.filter(isOfLines), isDry)));
    decisions.push(...entries.filter(({ step }) => step === null).map(unchanged));
    return decisions.sort((one, other) => one.item.index - other.item.index);
  }

  /** Results with the collections of their documents. */
  function named(results: readonly BulkItemResult[], of: string | null): JsonObject {
    const shown = results.map(({ index, ...rest }) => {
      const [category] = splitStream(streams[index] ?? '');
      return { index, collection: app.names.slugFor(category), ...rest };
    });
    return { ...answerOf(results, of), results: shown };
  }

  if (isDry) {
    const decisions = await decide();
    refuseClashes(app, decisions);
    refuseHeld(app, decisions, null);
    return h.response(named(decisions.map(undoneResultOf), null));
  }

  async function run(): Promise<ResponseObject> {
    const recorded = await recordAll(call, decide, { bulk: { call: 'undo', undoes: batch }, streams });
    return h.response(named(recorded.decisions.map(undoneResultOf), recorded.batch));
  }

  return once(call, run, async (again, position) => {
    const ids = streams.map((stream) => splitStream(stream)[1]);
    const made = headersIn(app, again, position);
    const thenOf = (id: string) => {
      const [category] = splitStream(streams[ids.indexOf(id)] ?? '');
      return app.byCategory.get(category)?.documents.asOf(id, position)?.version ?? 0;
    };
    const results = pastResults(ids, made, { thenOf, outcomeOf: outcomeOfUndo });
    return h.response(named(results, made.length > 0 ? again : null));
  });
}

/** A document of the call, and its step. */
type Entry = { step: UndoStep; subject: UndoSubject; item: Item };

type Restoring = Entry & { step: { kind: 'restore'; version: number } };

function isRestore(entry: Entry): entry is Restoring {
  return entry.step?.kind === 'restore';
}

type OfLines = Entry & { step: LinesStep };

function isOfLines(entry: Entry): entry is OfLines {
  return entry.step?.kind === 'lines';
}

function operationOf(step: UndoStep): 'create' | 'update' | 'delete' {
  if (step?.kind === 'lines') return step.operation;
  return step?.kind === 'delete' ? 'delete' : step?.kind === 'restore' ? 'create' : 'update';
}

/** @throws DomainError `forbidden` naming the documents that the caller may not give back what they were. */
async function decideAllLines(entries: readonly OfLines[], isDry: boolean): Promise<ItemDecision[]> {
  const decisions: ItemDecision[] = [];
  const refused: Item[] = [];
  const wrong = gatherErrors();
  for (const { item, step, subject } of entries) {
    await wrong.check(item.within, async () => {
      try {
        decisions.push(await decideLines({ item, step, id: subject.id }, isDry));
      } catch (error) {
        if (!(error instanceof DomainError && error.code === 'forbidden')) throw error;
        refused.push(item);
      }
    });
    await yieldToEventLoop();
  }
  if (refused.length > 0)
    throw refusedOf(
      refused,
      entries.map(({ item }) => item),
    );
  refuseInvalid(wrong.all());
  return decisions;
}

/** The restores, and the rule that admits each. */
type Plans = Map<Restoring, { plan: RestorePlan; rule: string | undefined }>;

async function plansOf(entries: readonly Restoring[]): Promise<Plans> {
  const plans: Plans = new Map();
  const wrong = gatherErrors();
  const refused: Item[] = [];
  for (const entry of entries) {
    const { item, step, subject } = entry;
    const { target, at, id } = subject;
    if (target.model.upload) throw new DomainError('conflict', `${at} is a file, and files are restored one by one`);
    await wrong.check(at, async () => {
      try {
        const plan = await planOf(item.write, { version: step.version }, id);
        plans.set(entry, { plan, rule: item.write.request.app.rule });
      } catch (error) {
        if (!(error instanceof DomainError && error.code === 'forbidden')) throw error;
        refused.push(item);
      }
    });
    await yieldToEventLoop();
  }
  if (refused.length > 0)
    throw refusedOf(
      refused,
      entries.map(({ item }) => item),
    );
  refuseInvalid(wrong.all());
  return plans;
}

async function decideRestoring(
  { item, subject }: Restoring,
  planned: { plan: RestorePlan; rule: string | undefined } | undefined,
  isDry: boolean,
): Promise<ItemDecision> {
  if (!planned) throw new Error(`nothing is known of the restore of ${subject.at}`);
  const { plan, rule } = planned;
  const { app, request, target } = item.write;
  const { id } = subject;
  const { source, end, values } = plan;
  const hookContext = { app, request, target, operation: 'create' as const, doc: null };
  const isHooked = !isDry && hasChangeHooks(target.model) && Object.keys(values).length > 0;
  const made = await (isHooked ? beforeChange(hookContext, values) : Promise.resolve(values)).catch(
    (error: unknown) => {
      throw refusalOfHook(error, item);
    },
  );
  const document = { ...plan.document, ...made };
  const { version, position } = source;
  const { at } = app.ids.next();
  const restoring = { source: { version, position }, current: null, end, document, at };
  const change = decideRestore({ ...target, isGlobal: false }, id, restoring);
  if (change && rule !== undefined) change.rule = rule;
  const shown = target.documentOf(id, (change?.events[0]?.data.document ?? document) as JsonObject);
  return { item, id, change, also: [], hookContext, document: shown, version: end.version + 1 };
}

/** A document of which others have done away with what there was to undo. */
function unchanged({ item, subject }: Entry): ItemDecision {
  const { app, request, target } = item.write;
  const { id, version } = subject;
  const hookContext = { app, request, target, operation: 'update' as const, doc: null };
  return { item, id, change: null, also: [], hookContext, document: {}, version };
}
