import type { Current } from '../../events/facts/documents.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { createCache } from '../tables/cache.ts';
import { interruptible } from '../tables/interruption.ts';
import type { Tables } from '../tables/tables.ts';
import { inTexts } from '../tables/value-locations.ts';
import type { Documents } from './documents.ts';
import type { SearchRequest } from './found.ts';
import { type GroupRequest, groupsOf } from './groups.ts';
import { compileAll, type JoinField, type JoinRequest, type JoinSources, sourcesIn } from './joins.ts';
import { lineFactsIn } from './line-facts.ts';
import {
  docOf,
  everything,
  idIn,
  type ListRequest,
  type Members,
  measured,
  type Page,
  type Prepare,
  preparer,
} from './lists.ts';
import { type OverlayTables, overlayOf, type Shown } from './overlay.ts';
import { type OverlayParts, overlayPage, overlayTotal } from './overlay-lists.ts';
import { compileWhere, oneOf, type Where } from './where.ts';

/** The documents of an overlay, its tables, and its documents by queries that ask whether they may go on. */
export type OverlayReader = {
  tables: OverlayTables;
  documents: Documents;
  interruptible: () => Documents;
  /** A `join` of documents of the overlay, with all of them. */
  sources: (join: Pick<JoinField, 'field' | 'sort'>, request: Omit<JoinRequest, 'limit'>) => JoinSources;
};

/** The two tables of an overlay, and the documents in each. */
type Layers = {
  under: Tables;
  over: Tables;
  documents: LayerDocuments;
  /** The same by queries that ask whether they may go on. */
  interruptible: () => LayerDocuments;
};

type LayerDocuments = { under: Documents; over: Documents };

/** Gives the reader of an overlay. The statements are shared by all overlays over these tables. */
export function openOverlay(db: Sqlite, { under, over, ...layers }: Layers): (shown: Shown) => OverlayReader {
  const prepare = preparer(db);
  const prepareRows = preparer(db, (statement) => statement.raw());
  const replaced = createCache<{ position: number; found: number }>();
  const tools = { db, prepare, replaced, factors: measured };
  return (shown) => {
    const tables = overlayOf({ under, over, shown });
    return {
      tables,
      documents: documentsOf(tables, { ...tools, documents: layers.documents }),
      interruptible() {
        const own = overlayOf({ under: interruptible(under), over: interruptible(over), shown });
        return documentsOf(own, { ...tools, documents: layers.interruptible() });
      },
      sources(join, request) {
        const { text, values } = compileAll({ ...join, tables }, request, (target, source) => `${target}, ${source}`);
        return sourcesIn(prepareRows<[target: string, source: string]>(text).all(...values));
      },
    };
  };
}

type Tools = Omit<OverlayParts, 'tables'> & { db: Sqlite };

function documentsOf(tables: OverlayTables, { db, ...tools }: Tools): Documents {
  const parts: OverlayParts = { ...tools, tables };
  const { prepare, documents } = parts;

  function together<T>(queries: () => T): T {
    return db.inTransaction ? queries() : db.transaction(queries)();
  }

  const list = (request: ListRequest): Page => together(() => overlayPage(parts, request));

  return {
    ...byId(parts),
    ...byCondition(tables, prepare),
    /** The shown draft as it was, else the public state. */
    asOf: (id, position) => documents.over.asOf(id, position) ?? documents.under.asOf(id, position),
    goneAt: documents.under.goneAt,
    newestChange: () => Math.max(documents.under.newestChange(), documents.over.newestChange()),
    lastWrite: () => Math.max(documents.under.lastWrite(), documents.over.lastWrite()),
    size: () => documents.under.size() + documents.over.size(),
    total: ({ where }, most) => overlayTotal(parts, where, most),
    list,
    found: ({ search, where, ...request }: SearchRequest) => {
      const found: Where = { search };
      return list({ ...request, where: where ? { and: [found, where] } : found, sort: newestFirst });
    },
    count: (where) => together(() => overlayTotal(parts, where)),
    groups: (request: GroupRequest) => groupsOf(tables, request, prepare),
    facts: (ids) => lineFactsIn(tables, ids, prepare),
  };
}

const newestFirst: ListRequest['sort'] = [{ steps: [], leaf: { name: 'id', kind: 'text' }, isDescending: true }];

function byId({ tables, documents }: OverlayParts) {
  const { shown } = tables.overlay;

  function isShown(layer: 'under' | 'over', id: string): boolean {
    const where = shown[layer];
    return where === null || documents[layer].matches(id, where);
  }

  function stored(id: string): { text: string; version: number } | null {
    const draft = documents.over.stored(id);
    if (draft && isShown('over', id)) return draft;
    const below = documents.under.stored(id);
    return below && isShown('under', id) ? below : null;
  }

  function current(id: string): Current | null {
    const found = stored(id);
    return found && { version: found.version, document: JSON.parse(found.text) };
  }

  return {
    stored,
    text: (id: string): string | null => stored(id)?.text ?? null,
    current,
    exists: (id: string): boolean => stored(id) !== null,
  };
}

function byCondition(tables: OverlayTables, prepare: Prepare) {
  const conditionOf = (where: Where | null) => (where ? compileWhere(where, { tables, alias: 'd' }) : everything);

  function matches(id: string, where: Where): boolean {
    const condition = conditionOf(where);
    // The id is bound twice, in both parts.
    const one = oneOf(tables, '(SELECT ?)');
    return prepare(`SELECT 1 FROM ${one} AS d WHERE ${condition.text}`).get(id, id, ...condition.values) !== undefined;
  }

  function find(where: Where): string | null {
    const condition = conditionOf(where);
    const select = prepare<string>(`SELECT d.id FROM ${tables.documents} AS d WHERE ${condition.text} LIMIT 1`);
    return select.get(...condition.values) ?? null;
  }

  function some(ids: readonly string[], where: Where | null, only: Members = null): Map<string, string> {
    const condition = conditionOf(where);
    const select = prepare<string>(
      `SELECT ${inTexts(tables, 'd', docOf(tables, only))} FROM ${tables.documents} AS d
       WHERE d.id IN (SELECT value FROM json_each(?)) AND ${condition.text}`,
    );
    return new Map(select.all(JSON.stringify(ids), ...condition.values).map((text) => [idIn(text), text]));
  }

  return { matches, find, some };
}
