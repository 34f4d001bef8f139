import type { ResponseObject } from '@hapi/hapi';
import { DomainError, type FieldError, inBody, invalidField } from '../../../config/errors.ts';
import type { Collection } from '../../../config/model.ts';
import { idIn } from '../../../projections/query/lists.ts';
import type { Where } from '../../../projections/query/where.ts';
import { refuseMissing } from '../../access/document-access.ts';
import { authorizeList, type ListScope, reachOf } from '../../access/list-scope.ts';
import type { Target } from '../../app.ts';
import { noteReason } from '../../http/reason.ts';
import { readQuery } from '../../queries/parameters.ts';
import { readWhereObject } from '../../queries/where.ts';
import type { CallerQuery } from '../../reads/missing-index.ts';
import { once } from '../concurrency/idempotency.ts';
import { refuseKeyOfDryRun } from '../concurrency/idempotency-key.ts';
import { isMissing, subjectOf } from '../drafts/line-steps.ts';
import { authorizeAnyLine } from '../drafts/rights.ts';
import { paceOf } from '../read/reading.ts';
import { validValues } from '../write/checked-values.ts';
import { streamOf } from '../write/current.ts';
import { answerOf, headersIn, pastResults, resultOf } from './answers.ts';
import { admitAll, type BulkCall, decideAll, type Item, type ItemDecision, recordAll, writeIn } from './items.ts';
import { type BulkWay, type ChangeKind, targetToSearch, wayOf } from './kinds.ts';
import { charactersOf, listerOf, loaded, refuseTooMuch, textsOf, versionAt } from './loading.ts';
import { gatherErrors, refuseClashes, refuseHeld, refuseInvalid } from './refusals.ts';
import { type BulkSelection, type ChangeRequest, mostDocuments, queryOf } from './requests.ts';

/**
 * Changes or deletes many documents, all or none. A dry run only tells the results: no hook runs, and nothing is
 * recorded.
 */
export async function changeMany(
  bulk: BulkCall,
  kind: ChangeKind,
  { selection, data }: ChangeRequest,
): Promise<ResponseObject> {
  const { app, request, target, h } = bulk;
  const way = wayOf(bulk, kind);
  // The rule is asked about each document; if there are none, it is asked only here.
  await authorizeAnyLine(bulk, way.right, way.isDraft);
  const { dryRun: isDry } = readQuery(queryOf(target, way.lines === null), request.query, app);
  noteReason(request, target.model);
  if (isDry) refuseKeyOfDryRun(request);
  const chosen = await chosenBy(bulk, selection, way.isDraft);

  async function decide(): Promise<ItemDecision[]> {
    const items = await itemsOf(bulk, chosen, { way, data });
    if (items.length === 0 && kind === 'update') await checkData(bulk, data);
    return decideAll(items, await admitAll(items), isDry);
  }

  if (isDry) {
    const decisions = await decide();
    refuseClashes(app, decisions);
    refuseHeld(app, decisions, null);
    return h.response(answerOf(decisions.map(resultOf), null));
  }

  async function change(): Promise<ResponseObject> {
    const ids = await idsOf(bulk, chosen, null);
    const streams = ids.map((id) => streamOf(target, id));
    const { decisions, batch } = await recordAll(bulk, decide, { bulk: { call: kind }, streams });
    return h.response(answerOf(decisions.map(resultOf), batch));
  }

  return once(bulk, change, async (batch, position) => {
    const ids = await idsOf(bulk, chosen, position);
    const headers = headersIn(app, batch, position);
    const results = pastResults(ids, headers, { thenOf: (id) => versionAt(bulk, id, position) });
    return h.response(answerOf(results, headers.length > 0 ? batch : null));
  });
}

/**
 * Checks values that no document gets: they must be valid as well. @throws DomainError `validation_failed` naming the
 * fields.
 */
async function checkData({ app, request, target }: BulkCall, data: unknown): Promise<void> {
  const wrong = gatherErrors();
  await wrong.check('data', async () => {
    await validValues({ app, request, target, operation: 'update', doc: null }, data);
  });
  refuseInvalid(wrong.all());
}

/**
 * The documents of a call: the documents with these ids, or all that the caller may read and that meet the condition.
 */
type DocumentChoice =
  | { ids: readonly string[] }
  | { where: Where; row: ListScope['row']; written: CallerQuery; target: Target<Collection> };

async function chosenBy(bulk: BulkCall, selection: BulkSelection, isDraft: boolean): Promise<DocumentChoice> {
  if ('ids' in selection) return selection;
  const target = await targetToSearch(bulk, isDraft);
  const call = { ...bulk, target };
  const { where: scope, row } = await authorizeList(call);
  const where = await readWhereObject(selection.where, await reachOf(call));
  return { where: scope ? { and: [scope, where] } : where, row, written: { where, place: 'body' }, target };
}

/** The ids of the documents of a call. @throws DomainError `validation_failed` if there are too many. */
async function idsOf(bulk: BulkCall, chosen: DocumentChoice, position: number | null): Promise<readonly string[]> {
  if ('ids' in chosen) return chosen.ids;
  const ids: string[] = [];
  const pace = paceOf(bulk);
  // A repeated call was served once: a refusal would say that it never was.
  const written = position === null ? chosen.written : undefined;
  const call = { ...bulk, target: chosen.target };
  for await (const text of textsOf(listerOf(call, position, written), chosen.where)) {
    await pace();
    if (chosen.row && !(await chosen.row(JSON.parse(text)))) continue;
    if (ids.length === mostDocuments)
      throw invalidField(
        inBody('where', 'max_items', { limit: mostDocuments }),
        `must match at most ${mostDocuments} documents`,
      );
    ids.push(idIn(text));
  }
  return ids;
}

type Change = { way: BulkWay; data: unknown };

async function itemsOf(bulk: BulkCall, chosen: DocumentChoice, { way, data }: Change): Promise<Item[]> {
  const { target } = bulk;
  const { kind } = way;
  const ids = await idsOf(bulk, chosen, null);
  if (kind === 'update') refuseTooMuch(JSON.stringify(data).length * ids.length);
  const currents = target.lines ? null : loaded(target, ids);
  if (!currents) refuseTooMuch(charactersOf(target, ids));
  const missing: FieldError[] = [];
  const items: Item[] = [];
  for (const [index, id] of ids.entries()) {
    const write = writeIn(bulk, {
      operation: way.operation,
      body: kind === 'update' ? data : null,
      lines: way.lines,
    });
    const line = currents ? undefined : { steps: way.stepsFor(write), subject: subjectOf(write, id) };
    const isAbsent = line && isMissing(line.subject, line.steps);
    const current = line ? line.subject.current : (currents?.get(id) ?? null);
    const at = 'ids' in chosen ? `ids.${index}` : 'where';
    // A document that was found may have changed since.
    if ('where' in chosen && !(await isChosen(chosen, id))) continue;
    if (isAbsent ?? current === null)
      missing.push({
        ...inBody(at, 'reference_not_found'),
        message: `${at} is the id of no document of ${target.slug}`,
      });
    // Of a publication the fields are not in the request.
    const within = kind === 'publish' ? (at === 'where' ? `where.${id}` : at) : 'data';
    items.push({ index: items.length, at, within, id, current, write, ...(line ? { line } : {}) });
  }
  const [first] = missing;
  if (first) await refuseAbsent(bulk, way, missing);
  return items;
}

async function isChosen(
  { where, row, target: { documents } }: Extract<DocumentChoice, { where: Where }>,
  id: string,
): Promise<boolean> {
  const stored = row && documents.stored(id);
  return documents.matches(id, where) && (!row || (stored !== null && (await row(JSON.parse(stored.text)))));
}

/** Refuses missing documents. A caller who would be refused anyway is not told which documents exist. */
async function refuseAbsent(bulk: BulkCall, { right, isDraft }: BulkWay, missing: FieldError[]): Promise<never> {
  await refuseMissing(bulk, right, '', isDraft).catch((error: unknown) => {
    if (!(error instanceof DomainError && error.code === 'not_found')) throw error;
  });
  const told = missing.slice(0, 20);
  const more = missing.length > told.length ? `; and ${missing.length - told.length} more` : '';
  throw new DomainError('not_found', told.map(({ message }) => message).join('; ') + more, told);
}
