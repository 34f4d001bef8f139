import { compileDraftValidator, compileValidator, defaultDocument } from '../../../config/documents.ts';
import type { Collection, Global, Model } from '../../../config/model.ts';
import { dataFields } from '../../../config/schema.ts';
import { compileDocument, compileGlobal, compileShape } from '../../../config/shape.ts';
import { searchedFields } from '../../../config/text-fields.ts';
import { hasReadHooks, hasReadRules, queryableFields } from '../../../config/traits.ts';
import { globalStream } from '../../../events/facts/catalogue.ts';
import { uniqueFields } from '../../../events/facts/claims.ts';
import { type Documents, openDocuments } from '../../../projections/query/documents.ts';
import { type JoinField, oldestFirst, openJoin } from '../../../projections/query/joins.ts';
import type { CollectionCaches } from '../../../projections/query/kept-rows.ts';
import { openLines, openReviews } from '../../../projections/query/lines.ts';
import { openOverlay } from '../../../projections/query/overlay-documents.ts';
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

/** The tables of a target, and its documents by queries that do not ask, and that ask whether they may go on. */
type OpenedTables = { tables: Tables; documents: Documents; asking: () => Documents };

/** Opens the drafts of a target, and the views in which they are in the place of its documents. */
function openDrafts(
  db: Sqlite,
  { tables, over, documents, asking }: OpenedTables & { over: Tables },
): { documents: Documents; overlay: Target['overlay'] } {
  const drafts = openDocuments(db, over);
  const layers = { under: documents, over: drafts };
  const asked = late(() => ({ under: asking(), over: openDocuments(db, interruptible(over)) }));
  const open = late(() => openOverlay(db, { under: tables, over, documents: layers, interruptible: asked }));
  return { documents: drafts, overlay: (shown) => open()(shown) };
}

type TargetTables = { tables: Tables; kept: CollectionCaches };

function openTarget<M extends Collection | Global>(db: Sqlite, model: M, { tables, kept }: TargetTables): Target<M> {
  const fields = dataFields(model.schema.fields);
  const isGlobal = model.kind === 'global';
  const shape = compileShape(fields);
  const documents = openDocuments(db, tables, { kept });
  const asking = late(() => openDocuments(db, interruptible(tables)));
  const drafts = tables.drafts && openDrafts(db, { tables, over: tables.drafts, documents, asking });
  return {
    model,
    slug: model.slug,
    category: model.category,
    documents,
    lines: tables.drafts && openLines(db, tables, tables.drafts),
    openReviews: tables.drafts && openReviews(db, tables.drafts),
    draftDocuments: drafts?.documents ?? null,
    overlay: drafts?.overlay ?? null,
    interruptible: asking,
    validator: compileValidator(model),
    draftValidator: model.drafts && compileDraftValidator(model, model.drafts),
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
