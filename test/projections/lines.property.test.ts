import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Config } from '../../config/define.ts';
import type { JsonObject } from '../../config/schema.ts';
import { compileShape } from '../../config/shape.ts';
import { isDraftOnly } from '../../events/facts/catalogue.ts';
import { uniqueFields } from '../../events/facts/claims.ts';
import { foldDocument } from '../../events/facts/documents.ts';
import type { Actor } from '../../events/facts/envelope.ts';
import {
  decideDiscard,
  decideDraft,
  decideDraftUpdate,
  decideEnd,
  decideLineRestore,
  decidePublicCreate,
  decidePublicUpdate,
  decidePublish,
  decideUnpublish,
  type LineSubject,
} from '../../events/facts/line-decisions.ts';
import { foldLines, type Lines, noLines } from '../../events/facts/lines.ts';
import type { Change, RecordedEvent } from '../../events/facts/log.ts';
import { openLines } from '../../projections/query/lines.ts';
import { type Tables, tablesOf } from '../../projections/tables/tables.ts';
import { category } from '../helpers/category.ts';
import { runsOf } from '../helpers/runs.ts';
import { type Directory, dumpFile, findingIn, openDirectory, quickFolder } from './directory.ts';

const fields = ['title', 'slug', 'stock'];
const config: Config = {
  collections: [
    {
      slug: 'posts',
      drafts: true,
      fields: [
        { name: 'title', type: 'text' },
        { name: 'slug', type: 'text', unique: true },
        { name: 'stock', type: 'number', index: true },
        { name: 'related', type: 'relationship', relationTo: 'posts', hasMany: true },
      ],
    },
  ],
};

type Do =
  | 'create'
  | 'draft'
  | 'patch'
  | 'save'
  | 'publish'
  | 'publishOld'
  | 'publishWith'
  | 'unpublish'
  | 'discard'
  | 'remove'
  | 'restore'
  | 'restoreDraft';
type Step = { do: Do; pick: number; values: JsonObject; by: number; back: number };

const value = fc.record(
  {
    title: fc.constantFrom('a', 'b', null),
    slug: fc.constantFrom('x', 'y', 'z', null),
    stock: fc.constantFrom(1, 2, null),
    related: fc.constant([] as string[]),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<JsonObject>;

const step: fc.Arbitrary<Step> = fc.record({
  do: fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom<Do>('create', 'draft') },
    { weight: 5, arbitrary: fc.constantFrom<Do>('patch', 'save', 'save') },
    { weight: 5, arbitrary: fc.constantFrom<Do>('publish', 'publishOld', 'publishWith', 'unpublish', 'discard') },
    { weight: 1, arbitrary: fc.constantFrom<Do>('remove', 'restore', 'restoreDraft') },
  ),
  pick: fc.nat({ max: 10 }),
  values: value,
  by: fc.nat({ max: 2 }),
  back: fc.nat({ max: 4 }),
});

const one = category('posts');

/** A document of the test: what readers and editors got after each event, by its position. */
type Told = { id: string; events: RecordedEvent[]; states: { position: number; published: string; draft: string }[] };

type World = {
  shape: (values: JsonObject) => JsonObject;
  directory: Directory;
  tables: Tables;
  lines: ReturnType<typeof openLines>;
  documents: Told[];
};

function targetOf({ directory }: World) {
  const { fields: declared } = directory.schema.collections[0] ?? { fields: [] };
  return { category: one, unique: uniqueFields(one, declared), isGlobal: false };
}

/** Lines at an earlier version of a stream, folded from the log. */
function linesAt(events: readonly RecordedEvent[], version: number): Lines {
  return events
    .slice(0, version)
    .reduce<Lines>((lines, { header, data }) => foldLines(lines, { ...header, data: data ?? {} }), noLines);
}

function decide(world: World, told: Told, { do: what, values, by, back }: Step): Change | null {
  const actor: Actor = { type: 'user', id: `users/${by}` };
  const target = targetOf(world);
  const now = world.lines(told.id);
  const subject: LineSubject = { id: told.id, now, actor, at: Date.parse('2026-11-20T12:00:00Z') };
  const version = Math.max(1, now.head - back);
  const isPublic = now.published !== null;
  if (what === 'restore' || what === 'restoreDraft') {
    const { draft } = linesAt(told.events, version);
    if (!draft) return null;
    const { id: _id, updatedAt: _updated, ...document } = draft;
    const isDraft = what === 'restoreDraft';
    return decideLineRestore(
      target,
      { ...subject, now: { ...now, head: told.events.length } },
      {
        source: { version, position: told.events[version - 1]?.header.position ?? 0 },
        document,
        isDraft,
      },
    );
  }
  if (now.draft === null) return null;
  if (what === 'patch') return isPublic ? decidePublicUpdate(target, subject, { values }) : null;
  if (what === 'publish') return decidePublish(target, subject, {});
  if (what === 'publishWith') return decidePublish(target, subject, { values });
  if (what === 'publishOld')
    return decidePublish(target, subject, { source: { version, lines: linesAt(told.events, version) } });
  if (what === 'unpublish') return isPublic ? decideUnpublish(target, subject) : null;
  if (what === 'remove') return back === 0 ? decideEnd(target, subject) : null;
  if (what === 'discard') {
    const last = told.states.findLast(({ published }) => published !== 'null')?.published;
    return isPublic || last ? decideDiscard(target, subject, last === undefined ? null : JSON.parse(last)) : null;
  }
  return decideDraftUpdate(target, subject, { values });
}

function play(world: World, all: Step, index: number): void {
  const { documents, directory, lines } = world;
  const isNew = all.do === 'create' || all.do === 'draft' || documents.length === 0;
  const told: Told = isNew
    ? { id: `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`, events: [], states: [] }
    : (documents[all.pick % documents.length] as Told);
  const actor: Actor = { type: 'user', id: `users/${all.by}` };
  const first = { id: told.id, actor, at: Date.parse('2026-11-20T12:00:00Z') };
  const make = all.do === 'draft' ? decideDraft : decidePublicCreate;
  const change = isNew ? make(targetOf(world), first, world.shape(all.values)) : decide(world, told, all);
  if (!change) return;
  const before = lines(told.id);
  const outcome = attempt(directory, change, actor);
  if (!outcome) return;
  if (isNew) documents.push(told);
  const reached = linesAt([...told.events, ...outcome], told.events.length + outcome.length);
  told.events.push(...outcome);
  const after = lines(told.id);
  const text = (state: JsonObject | null) => JSON.stringify(state);
  told.states.push({
    position: outcome.at(-1)?.header.position ?? 0,
    published: text(after.published),
    draft: text(after.draft),
  });
  // The rows are what the events make.
  assert.equal(shown(after.published), shown(reached.published));
  assert.equal(shown(after.draft), shown(reached.draft));
  assert.equal(after.published === after.draft, reached.published === reached.draft);
  assert.deepEqual(after.editors, reached.editors);
  assert.equal(after.head, after.draft === null ? 0 : told.events.length);
  const alone = outcome.every(({ header }) => isDraftOnly(header.type));
  if (alone) assert.equal(text(after.published), text(before.published), 'drafts change nothing that is public');
  assert.equal(shown(publicLine(told.events)), shown(after.published), 'the public line needs no draft');
  if (all.do === 'publish' && !isNew) assert.equal(after.published, after.draft);
  if (all.do === 'publishOld' && !isNew) takesNothingBack(before, after, linesAt(told.events, versionIn(outcome)));
  if (all.do === 'patch' && !isNew) keepsUnpublished(before, after, all.values);
}

/** A plain change publishes its own fields and no other, and keeps what is unpublished. */
function keepsUnpublished(before: Lines, after: Lines, values: JsonObject): void {
  for (const name of fields) {
    const wanted = Object.hasOwn(values, name) ? values[name] : before.published?.[name];
    assert.deepEqual(after.published?.[name], wanted);
    const isChanged = JSON.stringify(before.published?.[name]) !== JSON.stringify(before.draft?.[name]);
    assert.deepEqual(after.draft?.[name], isChanged ? before.draft?.[name] : wanted);
  }
}

/** The version that a publication names. */
function versionIn(events: readonly RecordedEvent[]): number {
  return Number(events.at(-1)?.data?.version);
}

/** A version that is published leaves alone the fields in which it did not differ from what was public at it. */
function takesNothingBack(before: Lines, after: Lines, then: Lines): void {
  if (!before.published || !then.published || !then.draft) return;
  for (const name of fields) {
    const isTaken: boolean = JSON.stringify(then.published[name]) !== JSON.stringify(then.draft[name]);
    assert.deepEqual(after.published?.[name], isTaken ? then.draft[name] : before.published[name]);
  }
}

function publicLine(events: readonly RecordedEvent[]): JsonObject | null {
  return events
    .filter(({ header }) => !isDraftOnly(header.type))
    .reduce<JsonObject | null>((state, { header, data }) => foldDocument(state, header.type, data ?? {}), null);
}

/** The members that this test sets, so that documents from rows and from events compare. */
function shown(state: JsonObject | null): string {
  return JSON.stringify(state && [state.id, state.updatedAt, ...fields.map((name) => state[name] ?? null)]);
}

/** The events of a change; null if a unique value is taken. */
function attempt(directory: Directory, change: Change, actor: Actor): RecordedEvent[] | null {
  try {
    return directory.record(change, { actor });
  } catch (error) {
    if (error instanceof Error && error.message.includes('"claim"')) return null;
    throw error;
  }
}

function open(folder: string, how = {}): World {
  const directory = openDirectory(join(folder, 'data'), config, how);
  const tables = tablesOf(directory.schema).find(({ key }) => key === 'posts') as Tables;
  const drafts = tables.drafts as Tables;
  const shape = compileShape(tables.fields);
  return { shape, directory, tables, lines: openLines(directory.reader, tables, drafts), documents: [] };
}

describe('The two lines of documents', () => {
  it('are what a model makes of random histories, now and as of each moment', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 25 }), (steps) => {
        const folder = quickFolder();
        const world = open(folder);
        try {
          for (const [index, one] of steps.entries()) play(world, one, index);
          for (const { id, states } of world.documents) {
            for (const { position, published } of states) {
              assert.equal(world.directory.asOf('posts', id, position) ?? 'null', published);
            }
            for (const { position, draft, published } of states) {
              const own = world.directory.asOf('posts#draft', id, position);
              assert.equal(own ?? published, draft);
            }
          }
          world.directory.close();
          assert.equal(findingIn(join(folder, 'data')), null);
          const live = dumpFile(world.directory.readFile);
          const again = openDirectory(join(folder, 'data'), config, { isRebuild: true });
          again.close();
          assert.equal(dumpFile(again.readFile), live, 'a rebuild makes the same tables');
        } finally {
          rmSync(folder, { recursive: true, force: true });
        }
      }),
      { numRuns: runsOf(2000, 130) },
    );
  });
});
