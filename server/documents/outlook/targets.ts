import type { Collection, Global } from '../../../config/model.ts';
import type { Outlook } from '../../../projections/past/outlook.ts';
import { openDocuments } from '../../../projections/query/documents.ts';
import { openJoin } from '../../../projections/query/joins.ts';
import { overlayOf, type Shown } from '../../../projections/query/overlay.ts';
import { openOverlay } from '../../../projections/query/overlay-documents.ts';
import type { Where } from '../../../projections/query/where.ts';
import { interruptible } from '../../../projections/tables/interruption.ts';
import type { Tables } from '../../../projections/tables/tables.ts';
import { late } from '../../../storage/sqlite.ts';
import { readCondition } from '../../access/conditions.ts';
import type { App, Join, Target } from '../../app.ts';

/**
 * The service as a request sees it that reads an outlook: all collections and globals are read on its connection, so
 * that filters, joins and rules that lead to other documents see it too.
 */
export function appIn(app: App, outlook: Outlook): App {
  const collections = new Map(
    [...app.collections].map(([slug, target]) => [slug, targetIn(target, outlook, app.collections)] as const),
  );
  const globals = new Map([...app.globals].map(([slug, target]) => [slug, targetIn(target, outlook, app.collections)]));
  return {
    ...app,
    collections,
    globals,
    byCategory: new Map([...collections.values()].map((target) => [target.category, target])),
    readCondition: (target, condition) => readCondition({ collections }, target, condition),
    // The index of texts has what is public today.
    search: { ...app.search, served: async (where) => where, servesWords: () => false },
  };
}

function targetIn<M extends Collection | Global>(
  target: Target<M>,
  outlook: Outlook,
  all: App['collections'],
): Target<M> {
  const { db } = outlook;
  const opened = late(() => openIn(target.tables, outlook));
  const joined = ({ collection }: Join) => all.get(collection)?.tables;
  return {
    ...target,
    tables: tablesIn(target.tables, outlook),
    get documents() {
      return opened().documents;
    },
    interruptible: () => opened().interruptible(),
    lines: null,
    draftDocuments: null,
    overlay: null,
    joins: target.joins.map((join) => {
      const tables = joined(join);
      const field = tables ? { ...join.field, tables: tablesIn(tables, outlook) } : join.field;
      const find = late(() => openJoin(db, field));
      // An overlay has no query for the first of each, so all are found: the answer is cut at the limit.
      const all = field.tables.overlay !== undefined;
      return { ...join, field, sources: (asked) => find()(all ? { ...asked, limit: null } : asked) };
    }),
  };
}

/** The tables of a collection or global in an outlook. */
function tablesIn(tables: Tables, { layers }: Outlook): Tables {
  const layer = layers.get(tables.key);
  return layer ? overlayOf({ under: tables, over: layer.over, shown: shownIn(layer.hidden) }) : tables;
}

function shownIn(hidden: readonly string[]): Shown {
  const isLeft: Where = { steps: [], leaf: { name: 'id', kind: 'text' }, operator: 'not_in', values: hidden };
  return { under: hidden.length > 0 ? isLeft : null, over: null };
}

function openIn(tables: Tables, { db, layers }: Outlook): Pick<Target, 'documents' | 'interruptible'> {
  const layer = layers.get(tables.key);
  const asking = late(() => openDocuments(db, interruptible(tables)));
  const documents = openDocuments(db, tables);
  if (!layer) return { documents, interruptible: asking };
  const { over, hidden } = layer;
  const own = { under: documents, over: openDocuments(db, over) };
  const asked = late(() => ({ under: asking(), over: openDocuments(db, interruptible(over)) }));
  return openOverlay(db, { under: tables, over, documents: own, interruptible: asked })(shownIn(hidden));
}
