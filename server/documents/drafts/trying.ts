import type { ResponseObject } from '@hapi/hapi';
import { DomainError, type FieldError, inHeader, invalidField } from '../../../config/errors.ts';
import type { Json, JsonObject } from '../../../config/schema.ts';
import { changesBetween, fieldOf } from '../../../events/facts/changes.ts';
import { changedNames, type Lines } from '../../../events/facts/lines.ts';
import { readableWith } from '../../access/field-access.ts';
import type { Call } from '../../app.ts';
import type { AnswerOf } from '../../openapi/answers.ts';
import { hasIdempotencyKey } from '../concurrency/idempotency-key.ts';
import { pastLinesOf } from '../past/past-lines.ts';
import { showableIn, titleOf } from '../search/titles.ts';
import { streamOf } from '../write/current.ts';
import { relationsIn } from '../write/relations.ts';
import type { ShownCall, Write } from '../write/write-steps.ts';
import { firstTime, outcomeOf, type Publication, publicOf, validPublication } from './publication.ts';
import { admitPublication } from './publishing.ts';
import { authorizeDraft, maySee } from './rights.ts';
import type { WantedPublication } from './wanted.ts';

type Trial = AnswerOf<'PublishDryRun'>;

/** Tells what a publication would change, and what is wrong with it; no hook runs, and nothing is recorded. */
export async function tryPublication(write: Write, wanted: WantedPublication): Promise<ResponseObject> {
  const { request, target, h } = write;
  if (hasIdempotencyKey(request)) {
    throw invalidField(inHeader('idempotency-key', 'contradiction'), 'does not go with dryRun, which does nothing');
  }
  const { publication, hookContext } = await admitPublication(write, wanted);
  await authorizeDraft(write, target.documentOf(publication.id, hookContext.doc));
  return h.response(await trialOf(write, publication));
}

/** Finds the effects and the problems of a publication, for a caller who may see the draft. */
export async function trialOf(call: ShownCall, asked: Publication): Promise<Trial> {
  const { app, target } = call;
  const { id, now, source } = asked;
  const time = firstTime(target, asked, app.clock.believed());
  const publication = { ...asked, values: { ...asked.values, ...time } };
  const outcome = outcomeOf(target, publication);
  const document = target.documentOf(id, outcome.document);
  const published = publicOf(target, publication);
  const before = published ? await shown(call, published) : {};
  const after = await shown(call, document);
  const changes = changesBetween(before, after);
  const isShown = new Set(changes.map(({ field }) => field));
  const bases = source ? publicAt(source.lines, outcome.names) : await publicWhenChanged(call, publication);
  return {
    version: source?.version ?? now.head,
    changes,
    problems: outcome.isChange ? await problemsOf(call, outcome.document) : [],
    notPublished: await notPublished(call, after),
    overwritten: overwritten(now.published, bases).filter(({ field }) => isShown.has(field)),
    releases: app.releases.livingWith({ category: target.category, id }).map((release) => release.id),
  };
}

/** A state of the document as the caller is shown it, without joins, which are not part of it. */
async function shown({ request, target, present }: ShownCall, document: JsonObject): Promise<JsonObject> {
  const all: JsonObject = JSON.parse(await present.document(request, document));
  const joins = new Set(target.joins.map(({ name }) => name));
  const own = Object.fromEntries(Object.entries(all).filter(([name]) => !joins.has(name)));
  return readableWith({ request, target }, own, [document]);
}

async function problemsOf(call: Call, document: JsonObject): Promise<Trial['problems']> {
  try {
    await validPublication(call, document);
    return [];
  } catch (error) {
    if (!(error instanceof DomainError && error.code === 'validation_failed')) throw error;
    return error.errors.map(({ field, message, code }: FieldError) => ({ field, message, code }));
  }
}

/** The documents to which this one refers, which are not public, and whose drafts the caller may read. */
async function notPublished(asking: Call, document: JsonObject): Promise<Trial['notPublished']> {
  const { app, request, target } = asking;
  const found: Trial['notPublished'][number][] = [];
  for (const { slug, id: value, path } of relationsIn(target.model.fields, document)) {
    const other = app.collections.get(slug);
    const id = String(value);
    const draft = other && !other.documents.exists(id) ? other.lines?.(id).draft : null;
    if (!other || !draft) continue;
    const call = { app, request, target: other };
    const isSeen = await maySee(call, 'draft', draft);
    if (isSeen) found.push({ field: path, collection: slug, id, title: titleOf(other, draft, await showableIn(call)) });
  }
  return found;
}

/** Public values of fields, by name. */
type Bases = ReadonlyMap<string, Json>;

function publicAt({ published }: Lines, names: readonly string[]): Bases {
  return new Map(published ? names.map((name) => [name, fieldOf(published, name)]) : []);
}

/** For each field that the draft changes, the public value when the draft began to differ from it. */
async function publicWhenChanged({ app, target }: Call, { id, now }: Publication): Promise<Bases> {
  const bases = new Map<string, Json>();
  if (!now.published || now.draft === now.published) return bases;
  await pastLinesOf(app, streamOf(target, id), { version: now.head }, ({ published, draft }) => {
    const names = published && draft ? changedNames(published, draft) : [];
    for (const name of bases.keys()) if (!names.includes(name)) bases.delete(name);
    for (const name of names) if (!bases.has(name)) bases.set(name, fieldOf(published, name));
  });
  return bases;
}

/** The public values that a publication replaces, and that became public after the change that is published. */
function overwritten(published: JsonObject | null, bases: Bases): Trial['overwritten'] {
  if (!published) return [];
  const before = Object.fromEntries(bases);
  const now = Object.fromEntries([...bases.keys()].map((name) => [name, fieldOf(published, name)]));
  return changesBetween(before, now).map(({ field, before: then, after }) => ({ field, now: after, then }));
}
