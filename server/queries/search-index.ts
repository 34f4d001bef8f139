import { setTimeout as wait } from 'node:timers/promises';
import type { Schema } from '../../config/schema.ts';
import type { TextField } from '../../config/text-fields.ts';
import { type ServingIndex, trigramsIn } from '../../projections/query/search.ts';
import type { Where } from '../../projections/query/where.ts';
import { type SearchTables, searchTablesOf } from '../../projections/tables/search-tables.ts';
import type { Tables } from '../../projections/tables/tables.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { fileNumber, requestPosition, type SearchCell, searchPosition } from '../writer/search-cell.ts';

/** The search index as one thread reads it. */
export type SearchReader = {
  /** Whether the index alone serves `q` on these documents. */
  servesWords: (tables: Tables) => boolean;
  /**
   * Waits until the index has reached the current position of the read tables.
   *
   * @returns false if that takes longer than a search may wait.
   */
  ready: () => Promise<boolean>;
  /** The index that serves a search in some fields; null without an index. */
  wordsOf: (tables: Tables, fields: readonly TextField[]) => ServingIndex | null;
  /** The search file for another thread to attach, in the state of the last `ready`; null without an index. */
  attachable: () => { file: string; number: number } | null;
  /** The position that the index has reached. */
  reached: () => number;
  /**
   * A filter in which the `like` conditions that the index serves are marked, if the index is ready in time: else
   * SQLite looks at every text.
   */
  served: (where: Where | null, tables: Tables) => Promise<Where | null>;
};

const patienceMilliseconds = 500;
const lookMilliseconds = 2;

/**
 * Where the search file is, and the position it has reached; null if nothing is indexed, or the file is not updated.
 */
export type SharedSearch = { file: string; cell: SearchCell } | null;

/** Opens the search index for a connection to the read tables: the first search attaches the file. */
export function openSearchReader(read: Sqlite, schema: Schema, shared: SharedSearch): SearchReader {
  if (shared === null) {
    return {
      servesWords: () => false,
      ready: async () => true,
      wordsOf: () => null,
      attachable: () => null,
      reached: () => Number.POSITIVE_INFINITY,
      served: async (where) => where,
    };
  }
  const { file, cell } = shared;
  const selectPosition = read.prepare<[], number>('SELECT position FROM checkpoint').pluck();
  const all = new Map(searchTablesOf(schema).map((one) => [one.tables.key, one]));
  let attached: number | null = null;

  async function ready(): Promise<boolean> {
    const wanted = selectPosition.get() ?? 0;
    const until = performance.now() + patienceMilliseconds;
    while (searchPosition(cell) < wanted) {
      requestPosition(cell, wanted);
      if (performance.now() > until) return false;
      await wait(lookMilliseconds);
    }
    attach();
    return true;
  }

  /** Attaches the current file. A new file has the same name as the old one, so the number tells them apart. */
  function attach(): void {
    const current = fileNumber(cell);
    if (attached === current) return;
    if (attached !== null) read.exec('DETACH search');
    attached = null;
    read.prepare('ATTACH ? AS search').run(file);
    attached = current;
  }

  function wordsOf({ key }: Tables, fields: readonly TextField[]): ServingIndex | null {
    const words = all.get(key)?.words;
    return words ? { table: words.name, columns: fields.map((field) => columnOf(words.fields, field.path)) } : null;
  }

  async function served(where: Where | null, tables: Tables): Promise<Where | null> {
    const marked = where && withTrigrams(where, tables, all);
    return marked === where || (await ready()) ? marked : where;
  }

  return {
    servesWords: ({ key }) => Boolean(all.get(key)?.words),
    ready,
    wordsOf,
    attachable: () => (attached === null ? null : { file, number: attached }),
    reached: () => searchPosition(cell),
    served,
  };
}

type All = ReadonlyMap<string, SearchTables>;
type Condition = Extract<Where, { steps: unknown }>;

function columnOf(fields: readonly TextField[], path: readonly string[]): string {
  return `c${fields.findIndex((field) => field.path.join('.') === path.join('.'))}`;
}

/** The same filter, if the index serves nothing of it. */
function withTrigrams(where: Where, tables: Tables, all: All): Where {
  const partsOf = (parts: readonly Where[]) => {
    const marked = parts.map((part) => withTrigrams(part, tables, all));
    return marked.some((part, index) => part !== parts[index]) ? marked : null;
  };
  if ('and' in where) {
    const and = partsOf(where.and);
    return and ? { and } : where;
  }
  if ('or' in where) {
    const or = partsOf(where.or);
    return or ? { or } : where;
  }
  const trigrams = 'steps' in where ? trigramsOf(where, tables, all) : null;
  return trigrams ? { ...(where as Condition), trigrams } : where;
}

/** The trigrams of the field of a `like`, in the tables where its path ends. */
function trigramsOf({ steps, leaf, operator, values }: Condition, tables: Tables, all: All): ServingIndex | null {
  if (operator !== 'like' || trigramsIn(String(values[0])).length === 0) return null;
  if (steps.some(({ kind }) => kind === 'items')) return null;
  const last = steps.findLastIndex(({ kind }) => kind === 'related');
  const related = steps[last];
  const { key } = related?.kind === 'related' ? related.tables : tables;
  const path = [...steps.slice(last + 1).map(({ name }) => name), leaf.name].join('.');
  const trigrams = all.get(key)?.trigrams;
  return trigrams?.fields.some((field) => field.path.join('.') === path)
    ? { table: trigrams.name, columns: [columnOf(trigrams.fields, path.split('.'))] }
    : null;
}
