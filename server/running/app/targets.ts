import { compileValidator, defaultDocument } from '../../../config/documents.ts';
import type { Collection, Global, Model } from '../../../config/model.ts';
import { dataFields } from '../../../config/schema.ts';
import { compileDocument, compileGlobal, compileShape } from '../../../config/shape.ts';
import { searchedFields } from '../../../config/text-fields.ts';
import { hasReadHooks, hasReadRules, queryableFields } from '../../../config/traits.ts';
import { globalStream } from '../../../events/facts/catalogue.ts';
import { uniqueFields } from '../../../events/facts/claims.ts';
import { openDocuments } from '../../../projections/query/documents.ts';
import { type JoinField, oldestFirst, openJoin } from '../../../projections/query/joins.ts';
import type { CollectionCaches } from '../../../projections/query/kept-rows.ts';
import { interruptible } from '../../../projections/tables/interruption.ts';
import { type Tables, tablesOf } from '../../../projections/tables/tables.ts';
import { late, type Sqlite } from '../../../storage/sqlite.ts';
import type { App, Join, Target } from '../../app.ts';
import { ownSortKeys } from '../../queries/paths.ts';

/** The collections and globals of a service. */
export type Targets = Pick<App, 'collections' | 'globals' | 'byCategory'>;

type Options = {
  /** The read file. */
  db: Sqlite;
  model: Model;
  /** Gives the rows that the thread keeps of a collection or global, by the key of its tables. */
  keep: (key: string) => CollectionCaches;
};

/** Prepares all collections and globals, once for each thread. */
export function openTargets({ db, model, keep }: Options): Targets {
  const tables = new Map(tablesOf(model.schema).map((described) => [described.key, described]));
  const tablesAt = (key: string) => tables.get(key) as Tables;

  function open<M extends Collection | Global>(own: M, key: string): Target<M> {
    return openTarget(db, own, { tables: tablesAt(key), kept: keep(key) });
  }

  function joinsOf({ fields }: Collection): Join[] {
    const joins = fields.filter(({ type }) => type === 'join');
    return joins.map(({ name, collection: slug = '', on = '', limit = null, sort }) => {
      const joined = model.collections.get(slug) as Collection;
      const order = sort === undefined ? oldestFirst : ownSortKeys(sort, joined.fields);
      const field: JoinField = { tables: tablesAt(joined.category), field: on, sort: order };
      return { name, collection: slug, limit, field, sources: openJoin(db, field) };
    });
  }

  const collections = [...model.collections.values()].map((collection) => {
    return { ...open(collection, collection.category), joins: joinsOf(collection) };
  });
  const globals = [...model.globals.values()].map((global) => open(global, globalStream(global.slug)));
  return {
    collections: new Map(collections.map((target) => [target.slug, target])),
    globals: new Map(globals.map((target) => [target.slug, target])),
    byCategory: new Map(collections.map((target) => [target.category, target])),
  };
}

type TargetTables = { tables: Tables; kept: CollectionCaches };

function openTarget<M extends Collection | Global>(db: Sqlite, model: M, { tables, kept }: TargetTables): Target<M> {
  const fields = dataFields(model.schema.fields);
  const isGlobal = model.kind === 'global';
  const shape = compileShape(fields);
  return {
    model,
    slug: model.slug,
    category: model.category,
    documents: openDocuments(db, tables, { kept }),
    interruptible: late(() => openDocuments(db, interruptible(tables))),
    validator: compileValidator(model),
    documentOf: isGlobal ? compileGlobal(fields) : compileDocument(fields, model.upload ? model.slug : null),
    defaults: isGlobal ? () => shape(defaultDocument(model.fields)) : null,
    unique: isGlobal ? [] : uniqueFields(model.category, model.schema.fields),
    joins: [],
    tables,
    searched: model.kind === 'collection' ? searchedFields(model.schema) : [],
    hasReadHooks: hasReadHooks(model),
    queryable: queryableFields(model),
    hasReadRules: hasReadRules(model),
  };
}
