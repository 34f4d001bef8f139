import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { CollectionConfig, Config, FieldConfig } from '../../config/define.ts';
import type { Json, JsonObject } from '../../config/schema.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { buildReadFile } from '../../projections/start/rebuild.ts';
import { SchemaError } from '../../projections/start/schema-check.ts';
import { projectionOf } from '../../projections/tables/epochs.ts';
import { openProjector } from '../../projections/tables/projector.ts';
import { createIndexes, createTables } from '../../projections/tables/tables.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { runsOf } from '../helpers/runs.ts';
import { type Directory, dumpFile, findingIn, openDirectory, quickFolder } from './directory.ts';

/**
 * A field as the model knows it. `storage` is the key under which the model keeps its values, whatever the field is
 * called: a renamed field keeps its storage, and a removed one that comes back finds its values there.
 */
type ModelField = { name: string; storage: string; kind: Kind; isUnique: boolean; renamedFrom?: string };
type Kind = 'text' | 'number' | 'boolean' | 'object' | 'list' | 'links' | 'time';

type Setup = { posts: ModelField[]; notes: ModelField[]; hasNotes: boolean; label: number };

/** A document of the model: its values by storage key, with the times that the events gave it. */
type Doc = { values: Map<string, Json>; createdAt: Json; updatedAt: Json };

/** The state after each position: every document there was then, by stream. */
type State = Map<string, Doc>;

const slugs = ['posts', 'notes'] as const;
type Slug = (typeof slugs)[number];

const start: Setup = {
  posts: [
    { name: 'title', storage: 'title', kind: 'text', isUnique: true },
    { name: 'count', storage: 'count', kind: 'number', isUnique: false },
    { name: 'clock', storage: 'clock', kind: 'time', isUnique: false },
    { name: 'seo', storage: 'seo', kind: 'object', isUnique: false },
    { name: 'tags', storage: 'tags', kind: 'list', isUnique: false },
  ],
  notes: [
    { name: 'body', storage: 'body', kind: 'text', isUnique: false },
    { name: 'isOpen', storage: 'isOpen', kind: 'boolean', isUnique: false },
    { name: 'posts', storage: 'posts', kind: 'links', isUnique: false },
  ],
  hasNotes: true,
  label: 0,
};

function fieldConfig({ name, kind, isUnique, renamedFrom }: ModelField): FieldConfig {
  const rest = renamedFrom ? { renamedFrom } : {};
  const unique = isUnique ? { unique: true } : {};
  switch (kind) {
    case 'text':
    case 'number':
    case 'time':
      return { name, type: kind, ...unique, ...rest };
    case 'boolean':
      return { name, type: 'boolean', ...rest };
    case 'object':
      return {
        name,
        type: 'object',
        fields: [
          { name: 'code', type: 'text', ...unique },
          { name: 'n', type: 'number' },
          { name: 'at', type: 'time' },
        ],
        ...rest,
      };
    case 'list':
      return { name, type: 'multiSelect', options: ['x', 'y', 'z'], ...rest };
    case 'links':
      return { name, type: 'relationship', relationTo: 'posts', hasMany: true, ...rest };
  }
}

function configOf(setup: Setup): Config {
  const collections: CollectionConfig[] = [
    {
      slug: 'posts',
      labels: { singular: `Post ${setup.label}`, plural: 'Posts' },
      fields: setup.posts.map(fieldConfig),
    },
  ];
  if (setup.hasNotes) collections.push({ slug: 'notes', fields: setup.notes.map(fieldConfig) });
  return { collections, globals: [{ slug: 'site', fields: [{ name: 'motto', type: 'text' }] }] };
}

function emptyOf(kind: Kind): Json {
  return kind === 'list' || kind === 'links' ? [] : null;
}

/** The document as the service would answer it under the fields of a setup. */
function shownAs(fields: readonly ModelField[], id: string, doc: Doc): JsonObject {
  const shown: JsonObject = { id, createdAt: doc.createdAt, updatedAt: doc.updatedAt };
  for (const { name, storage, kind } of fields) shown[name] = inOneForm(doc.values.get(storage) ?? emptyOf(kind), kind);
  return shown;
}

/** A time is shown without seconds if they are 0, whatever form it was recorded in. */
function inOneForm(value: Json, kind: Kind): Json {
  if (kind === 'object' && value !== null) {
    const { at = null } = value as JsonObject;
    return { ...(value as JsonObject), at: inOneForm(at, 'time') };
  }
  return kind === 'time' && typeof value === 'string' ? value.replace(/^(..:..):00$/, '$1') : value;
}

/** The value of a unique field of the model in a document; null without one. */
function uniqueValue({ storage, kind }: ModelField, doc: Doc): string | null {
  const value = inOneForm(doc.values.get(storage) ?? null, kind);
  const found = kind === 'object' && value !== null ? ((value as JsonObject).code ?? null) : value;
  return found === null ? null : JSON.stringify(found);
}

const smallText = fc.option(fc.constantFrom('a', 'b', 'c', 'd', 'é', ''), { nil: null, freq: 6 });

function rolledValue(kind: Kind, dice: Dice): Json {
  switch (kind) {
    case 'text':
      return dice.text;
    case 'number':
      return dice.number;
    case 'boolean':
      return dice.isOpen;
    case 'object':
      return dice.isOpen === null ? null : { code: dice.text, n: dice.number, at: dice.time };
    case 'time':
      return dice.time;
    case 'list':
      return dice.list;
    case 'links':
      return dice.list.map((letter) => `to ${letter}`);
  }
}

type Dice = {
  text: string | null;
  number: number | null;
  time: string | null;
  isOpen: boolean | null;
  list: string[];
  pick: number;
  mask: number;
};

const dice: fc.Arbitrary<Dice> = fc.record({
  text: smallText,
  number: fc.option(fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(0.1, 1e300, -0, 5e-324)), { nil: null }),
  time: fc.option(fc.constantFrom('10:00', '10:00:00', '10:00:01', '09:59', '09:59:00'), { nil: null, freq: 6 }),
  isOpen: fc.option(fc.boolean(), { nil: null }),
  list: fc.uniqueArray(fc.constantFrom('x', 'y', 'z')),
  pick: fc.integer({ min: 0, max: 11 }),
  mask: fc.integer({ min: 1, max: 255 }),
});

type Step =
  | { do: 'create'; slug: Slug; dice: Dice }
  | { do: 'update'; slug: Slug; dice: Dice }
  | { do: 'delete'; slug: Slug; dice: Dice }
  | { do: 'global'; dice: Dice }
  | { do: 'restart'; how: 'close' | 'delete' | 'rebuild' }
  | SchemaStep;

type SchemaStep = { do: 'schema'; change: Change; slug: Slug; pick: number; kind: Kind };

type Change = 'add' | 'remove' | 'bring back' | 'rename' | 'unique' | 'collection' | 'label';

const changes: Change[] = [
  'add',
  'remove',
  'bring back',
  'rename',
  'unique',
  'unique',
  'unique',
  'collection',
  'label',
];

const write = fc.record({
  do: fc.constantFrom('create' as const, 'create' as const, 'update' as const, 'update' as const, 'delete' as const),
  slug: fc.constantFrom(...slugs),
  dice,
});

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 14, arbitrary: write },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('global' as const), dice }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('restart' as const),
        how: fc.constantFrom('close' as const, 'delete' as const, 'rebuild' as const),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('schema' as const),
        change: fc.constantFrom<Change>(...changes),
        slug: fc.constantFrom(...slugs),
        pick: fc.integer({ min: 0, max: 11 }),
        kind: fc.constantFrom<Kind>('text', 'number', 'boolean', 'object', 'list', 'links', 'time'),
      }),
    },
  ),
  { minLength: 5, maxLength: 60, size: 'max' },
);

/** The real thing and the model of it, driven by the same steps. */
function createRun(folder: string) {
  let setup = start;
  let directory: Directory = openDirectory(folder, configOf(setup));
  let state: State = new Map();
  /** By position. */
  const history: State[] = [new Map(), new Map()];
  const removed: Record<Slug, ModelField[]> = { posts: [], notes: [] };
  let names = 0;
  const counts = { recorded: 0, conflicts: 0, schemas: 0, refused: 0, restarts: 0 };

  /** Every event that was recorded by a step is a position whose state is known. */
  function remember(): void {
    const { size } = directory.log.head();
    while (history.length <= size)
      history.push(new Map([...state].map(([key, doc]) => [key, { ...doc, values: new Map(doc.values) }])));
  }

  function fieldsOf(slug: Slug): readonly ModelField[] {
    return setup[slug];
  }

  function idsOf(slug: Slug): string[] {
    return [...state.keys()].filter((key) => key.startsWith(`${slug}/`)).map((key) => key.slice(slug.length + 1));
  }

  /** The unique fields whose value in `doc` another document has. */
  function isTaken(slug: Slug, id: string, doc: Doc): boolean {
    return fieldsOf(slug)
      .filter(({ isUnique }) => isUnique)
      .some((field) => {
        const value = uniqueValue(field, doc);
        const others = idsOf(slug).filter((other) => other !== id);
        return (
          value !== null && others.some((other) => uniqueValue(field, state.get(`${slug}/${other}`) as Doc) === value)
        );
      });
  }

  function attempt(isExpected: boolean, run: () => void): boolean {
    try {
      run();
    } catch (error) {
      assert.match((error as Error).message, /"conflict":"claim"/);
      assert.ok(!isExpected, `refused, though no other document has the value: ${(error as Error).message}`);
      counts.conflicts += 1;
      return false;
    }
    assert.ok(isExpected, 'recorded, though another document has the value');
    return true;
  }

  function take(slug: Slug, id: string, doc: Doc): void {
    const shown = directory.document(slug, id);
    doc.createdAt = shown?.createdAt ?? null;
    doc.updatedAt = shown?.updatedAt ?? null;
    state.set(`${slug}/${id}`, doc);
    counts.recorded += 1;
  }

  function create(slug: Slug, rolled: Dice): void {
    if (slug === 'notes' && !setup.hasNotes) return;
    const doc: Doc = { values: new Map(), createdAt: null, updatedAt: null };
    const values: JsonObject = {};
    for (const { name, storage, kind } of fieldsOf(slug)) {
      const value = plain(rolledValue(kind, rolled));
      values[name] = value;
      doc.values.set(storage, value);
    }
    let id = '';
    const isDone = attempt(!isTaken(slug, '', doc), () => {
      id = directory.create(slug, values);
    });
    if (isDone) take(slug, id, doc);
  }

  function update(slug: Slug, rolled: Dice): void {
    if (slug === 'notes' && !setup.hasNotes) return;
    const ids = idsOf(slug);
    const id = ids[rolled.pick % ids.length];
    if (id === undefined) return;
    const before = state.get(`${slug}/${id}`) as Doc;
    const doc: Doc = { ...before, values: new Map(before.values) };
    const values: JsonObject = {};
    for (const [index, { name, storage, kind }] of fieldsOf(slug).entries()) {
      if ((rolled.mask >> (index % 8)) % 2 === 0) continue;
      const value = plain(rolledValue(kind, rolled));
      values[name] = value;
      doc.values.set(storage, value);
    }
    const shown = shownAs(fieldsOf(slug), id, before);
    // As before times had one form: one in another form is recorded, though it changes nothing.
    const isChange = Object.entries(values).some(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(shown[name]),
    );
    const { size } = directory.log.head();
    const isDone = attempt(!isTaken(slug, id, doc), () => directory.update(slug, id, values));
    if (!isDone) return;
    assert.equal(directory.log.head().size - size, isChange ? 1 : 0, 'only a change is recorded');
    if (isChange) take(slug, id, doc);
  }

  function remove(slug: Slug, rolled: Dice): void {
    if (slug === 'notes' && !setup.hasNotes) return;
    const ids = idsOf(slug);
    const id = ids[rolled.pick % ids.length];
    if (id === undefined) return;
    directory.remove(slug, id);
    state = new Map(state);
    state.delete(`${slug}/${id}`);
    counts.recorded += 1;
  }

  function setGlobal({ text }: Dice): void {
    const { size } = directory.log.head();
    directory.setGlobal('site', { motto: text });
    if (directory.log.head().size === size) return;
    const doc: Doc = { values: new Map([['motto', text]]), createdAt: null, updatedAt: null };
    const shown = directory.document('globals/site', 'site');
    state.set('globals/site', { ...doc, createdAt: shown?.createdAt ?? null, updatedAt: shown?.updatedAt ?? null });
    counts.recorded += 1;
  }

  function restart(next: Setup, how: 'close' | 'delete' | 'rebuild'): void {
    directory.close();
    if (how === 'delete') {
      for (const name of readdirSync(folder)) if (name.startsWith('read-')) rmSync(join(folder, name));
    }
    directory = openDirectory(folder, configOf(next), { isRebuild: how === 'rebuild' });
    counts.restarts += 1;
  }

  function changed(step: SchemaStep): Setup {
    const { change, slug, pick, kind } = step;
    const fields = setup[slug];
    const field = fields[pick % fields.length];
    const replaced = (list: ModelField[]): Setup => ({ ...setup, [slug]: list });
    // renamedFrom is left in the configuration until the field is touched again.
    const others = fields.filter((other) => other !== field);
    if (change === 'label') return { ...setup, label: setup.label + 1 };
    if (change === 'collection') return { ...setup, hasNotes: !setup.hasNotes };
    if (slug === 'notes' && !setup.hasNotes) return setup;
    names += 1;
    switch (change) {
      case 'add': {
        if (fields.length > 6) return setup;
        return replaced([...fields, { name: `new${names}`, storage: `new${names}`, kind, isUnique: false }]);
      }
      case 'remove': {
        if (!field || fields.length < 2) return setup;
        removed[slug].push(field);
        return replaced(others);
      }
      case 'bring back': {
        const back = removed[slug][pick % removed[slug].length];
        if (!back) return setup;
        removed[slug] = removed[slug].filter((other) => other !== back);
        const { renamedFrom: _, ...rest } = back;
        return replaced([...fields, rest]);
      }
      case 'rename': {
        if (!field) return setup;
        return replaced(
          fields.map((other) => {
            if (other !== field) return other;
            return { ...field, name: `named${names}`, renamedFrom: field.name };
          }),
        );
      }
      case 'unique':
        return replaced(
          fields.map((other) => {
            if (other !== field || !['text', 'number', 'object', 'time'].includes(field.kind)) return other;
            return { ...field, isUnique: !field.isUnique };
          }),
        );
    }
  }

  /** Documents that share a value of a field that is unique in `next`. */
  function hasDuplicates(next: Setup): boolean {
    return slugs
      .filter((slug) => slug === 'posts' || next.hasNotes)
      .some((slug) =>
        next[slug]
          .filter(({ isUnique }) => isUnique)
          .some((field) => {
            const held = idsOf(slug).map((id) => uniqueValue(field, state.get(`${slug}/${id}`) as Doc));
            const values = held.filter((value) => value !== null);
            return new Set(values).size < values.length;
          }),
      );
  }

  function changeSchema(step: SchemaStep): void {
    const kept = { posts: [...removed.posts], notes: [...removed.notes] };
    const next = changed(step);
    const { size } = directory.log.head();
    const isRefused = hasDuplicates(next);
    try {
      restart(next, 'close');
      setup = next;
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error;
      assert.ok(isRefused, error.message);
      Object.assign(removed, kept);
      restart(setup, 'close');
      assert.equal(directory.log.head().size, size, 'a refused schema records nothing');
      counts.refused += 1;
      return;
    }
    assert.ok(!isRefused, 'a unique field was taken over duplicates');
    counts.schemas += directory.log.head().size - size;
  }

  function apply(step: Step): void {
    if (step.do === 'schema') changeSchema(step);
    else if (step.do === 'create') create(step.slug, step.dice);
    else if (step.do === 'update') update(step.slug, step.dice);
    else if (step.do === 'delete') remove(step.slug, step.dice);
    else if (step.do === 'global') setGlobal(step.dice);
    else restart(setup, step.how);
    remember();
  }

  /** Compares all current reads, and every past version, with the model. */
  function check(): void {
    const shown: [key: string, fields: readonly ModelField[]][] = [['posts', setup.posts]];
    if (setup.hasNotes) shown.push(['notes', setup.notes]);
    shown.push(['globals/site', [{ name: 'motto', storage: 'motto', kind: 'text', isUnique: false }]]);
    for (const [key, fields] of shown) {
      const rows = directory.reader
        .prepare(
          `SELECT id, doc, valid_from AS since, NULL AS until FROM "documents ${key}" JOIN "texts ${key}" USING (key)
           UNION ALL SELECT id, doc, valid_from, valid_to FROM "versions ${key}" JOIN "past texts ${key}" USING (valid_from)
           ORDER BY since`,
        )
        .all() as { id: string; doc: string; since: number; until: number | null }[];
      for (const [position, expected] of history.entries()) {
        const then = rows.filter(({ since, until }) => since <= position && (until === null || position < until));
        const found = new Map(then.map(({ id, doc }) => [key.includes('/') ? key : `${key}/${id}`, doc]));
        const wanted = [...expected].filter(([stream]) => stream === key || stream.startsWith(`${key}/`));
        for (const id of new Set(rows.map((row) => row.id))) {
          const stream = key.includes('/') ? key : `${key}/${id}`;
          assert.equal(directory.asOf(key, id, position), found.get(stream) ?? null, `${stream} as of ${position}`);
        }
        assert.equal(found.size, wanted.length, `documents of ${key} at position ${position}`);
        for (const [stream, doc] of wanted) {
          const id = stream.slice(stream.lastIndexOf('/') + 1);
          assert.equal(
            found.get(stream),
            JSON.stringify(shownAs(fields, id, doc)),
            `${stream} at position ${position}`,
          );
        }
      }
      const live = rows.filter(({ until }) => until === null);
      for (const { id } of live) assert.ok(key.includes('/') || state.has(`${key}/${id}`));
    }
    checkFiles();
  }

  /** The live tables are a rebuild in chunks is a rebuild event by event, byte for byte, and verify finds nothing. */
  function checkFiles(): void {
    const { readFile } = directory;
    directory.close();
    const live = dumpFile(readFile);
    const db = openDatabase(join(folder, 'log.db'), { readonly: true });
    const log = readLog(db);
    const made = projectionOf(log);
    assert.ok(made);
    const { size } = log.head();
    const fast = join(folder, 'fast');
    buildReadFile(fast, made.projection, { log, upTo: size });
    assert.equal(dumpFile(fast), live, 'a rebuild in chunks');

    const slow = openDatabase(':memory:', { durability: 'off' });
    createTables(slow, made.projection.tables);
    createIndexes(slow, made.projection.tables);
    const projector = openProjector(slow, made.projection);
    for (let position = 1; position <= size; position += 1) {
      projector.apply(log.range(position - 1, position), log.rootAt(position));
    }
    const copy = join(folder, 'slow');
    slow.exec(`VACUUM INTO '${copy}'`);
    slow.close();
    assert.equal(dumpFile(copy), live, 'a rebuild event by event');
    db.close();
    assert.equal(findingIn(folder), null, 'verify');
    directory = openDirectory(folder, configOf(setup));
  }

  return { apply, check, counts, close: () => directory.close() };
}

function plain(value: Json): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}

/** One run that has everything in it, so that no run of the test is without. */
function everything(): Step[] {
  const rolled: Dice = { text: 'a', number: 1, time: '10:00', isOpen: true, list: ['x', 'y'], pick: 0, mask: 255 };
  const schema = (change: Change, slug: Slug, pick: number): Step => ({
    do: 'schema',
    change,
    slug,
    pick,
    kind: 'text',
  });
  const posts = [rolled, { ...rolled, text: 'b', time: '10:00:00' }, { ...rolled, text: 'b', number: 2 }];
  return [
    ...posts.map((one): Step => ({ do: 'create', slug: 'posts', dice: one })),
    { do: 'create', slug: 'notes', dice: rolled },
    { do: 'global', dice: rolled },
    schema('unique', 'posts', 1),
    { do: 'update', slug: 'posts', dice: { ...rolled, text: 'c', number: 3, mask: 3 } },
    schema('unique', 'posts', 1),
    schema('rename', 'posts', 0),
    { do: 'restart', how: 'delete' },
    schema('remove', 'notes', 0),
    schema('collection', 'notes', 0),
    { do: 'delete', slug: 'posts', dice: rolled },
    schema('collection', 'notes', 0),
    schema('bring back', 'notes', 0),
    schema('add', 'notes', 0),
    { do: 'update', slug: 'notes', dice: { ...rolled, text: 'd' } },
    schema('label', 'posts', 0),
    { do: 'restart', how: 'rebuild' },
  ];
}

describe('the service against a plain model of it', () => {
  it('agrees through random writes, restarts, rebuilds and changes of the schema, now and at every position', () => {
    const totals = { recorded: 0, conflicts: 0, schemas: 0, refused: 0, restarts: 0 };
    fc.assert(
      fc.property(steps, (list) => {
        const folder = quickFolder();
        const run = createRun(folder);
        try {
          for (const step of list) run.apply(step);
          run.check();
        } finally {
          run.close();
          rmSync(folder, { recursive: true, force: true });
        }
        for (const name of Object.keys(totals) as (keyof typeof totals)[]) totals[name] += run.counts[name];
      }),
      {
        examples: [[everything()]],
        numRuns: runsOf(30),
        endOnFailure: false,
      },
    );
    // A case that never came up was not tested.
    for (const [name, count] of Object.entries(totals)) assert.ok(count > 0, name);
  });
});
