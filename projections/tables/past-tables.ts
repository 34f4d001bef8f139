import { lineColumns, quote, type Tables } from './tables.ts';
import { foldedIn } from './value-locations.ts';

/** The columns of `documents` that queries read, each with its expression over `versions`. */
export function columnsOf({ columns, line }: Tables): { name: string; ofVersion: string }[] {
  const stored = columns.filter(({ isStored }) => isStored);
  const ofLine = line ? Object.keys(lineColumns[line]) : [];
  const same = [
    'valid_from',
    'id',
    'version',
    'created_at',
    'updated_at',
    ...ofLine,
    ...stored.map(({ name }) => name),
  ];
  return [
    { name: 'key', ofVersion: 'valid_from' },
    ...same.map((name) => ({ name, ofVersion: name })),
    ...stored.flatMap(({ name, key }) => (key ? [{ name: key, ofVersion: foldedIn(name) }] : [])),
  ];
}

/**
 * The tables as they stood at a position, as queries over live and past versions. They need no preparation, but a list
 * over them reads all versions that ended since; one version by its id is a look-up.
 */
export function viewAsOf(tables: Tables, position: number): Tables {
  return viewAt(tables, checked(position));
}

/** As {@link viewAsOf}, for queries with the position bound as `position`: one text for all positions. */
export function viewAtBound(tables: Tables): Tables {
  return viewAt(tables, '(SELECT @position)');
}

function viewAt(tables: Tables, at: string): Tables {
  const { documents, versions, linkTable, pastLinks } = tables;
  const columns = columnsOf(tables);
  const live = `SELECT ${columns.map(({ name }) => name).join(', ')} FROM ${documents} WHERE valid_from <= ${at}`;
  const past = `SELECT ${columns.map(({ ofVersion }) => ofVersion).join(', ')} FROM ${versions}
    WHERE valid_from <= ${at}`;
  const links = `(SELECT field, target, source FROM ${linkTable} WHERE valid_from <= ${at} UNION ALL
    SELECT field, target, source FROM ${pastLinks} WHERE valid_from <= ${at} AND valid_to > ${at})`;
  return {
    ...tables,
    documents: `(${live} UNION ALL ${past} AND valid_to > ${at})`,
    // The first version that ended after a position is the only one that can have held at it.
    documentBy: (id) => `(${live} AND id = ${id} UNION ALL ${past}
      AND valid_to = (SELECT min(valid_to) FROM ${versions} WHERE id = ${id} AND valid_to > ${at}))`,
    linkTable: linkTable && links,
    isPast: true,
  };
}

/**
 * The tables with the versions that held at the position bound as `since` and have ended by now, found by their keys,
 * in place of `documents`.
 */
export function replacedSince(tables: Tables): Tables {
  const columns = columnsOf(tables).map(({ name, ofVersion }) => `${ofVersion} AS ${name}`);
  const documents = `(SELECT ${columns.join(', ')} FROM ${tables.versions}
    WHERE valid_to > (SELECT @since) AND valid_from <= (SELECT @since))`;
  return { ...tables, documents, isPast: true };
}

/** The SQL that makes and fills a table in memory with `documents` as of a position. */
type Copy = {
  /** The tables, with the copy in place of `documents`. */
  tables: Tables;
  create: string;
  /** Lets each document in once. Made after most rows, in one sort: row by row it costs several times as much. */
  idIndex: string;
  /** Made after the rows: row by row they cost ten times as much. */
  indexes: readonly { create: string; drop: string }[];
  drop: string;
  /** Copies the live rows with keys after one and up to another. */
  copyLive: string;
  /** Copies the past rows of versions that ended after one position and up to another. */
  copyPast: string;
};

/** @param name distinct among the copies of a connection. */
export function copyAsOf(tables: Tables, position: number, name: string): Copy {
  const at = checked(position);
  const copy = quote(name);
  const columns = columnsOf(tables);
  const names = columns.map((column) => column.name).join(', ');
  const types = new Map<string, string>([
    ['key', 'INTEGER PRIMARY KEY'],
    ['id', 'TEXT NOT NULL'],
    ...['valid_from', 'version', 'created_at', 'updated_at'].map((own) => [own, 'INTEGER NOT NULL'] as const),
    ...Object.entries(tables.line ? lineColumns[tables.line] : {}),
    ...tables.columns.map((column) => [column.name, column.affinity] as const),
    ...tables.columns.flatMap(({ key }) => (key ? [[key, 'TEXT'] as const] : [])),
  ]);
  const indexes = tables.copyIndexes.map((index, number) => {
    const own = `temp.${quote(`${name} ${number}`)}`;
    return { create: `CREATE INDEX ${own} ON ${copy} (${index})`, drop: `DROP INDEX ${own}` };
  });
  const insert = `INSERT OR IGNORE INTO temp.${copy} (${names})`;
  return {
    tables: { ...viewAsOf(tables, position), documents: copy },
    create: `CREATE TEMP TABLE ${copy} (${columns.map((column) => `${column.name} ${types.get(column.name)}`).join(', ')})`,
    idIndex: `CREATE UNIQUE INDEX temp.${quote(`${name} id`)} ON ${copy} (id)`,
    indexes,
    drop: `DROP TABLE temp.${copy}`,
    copyLive: `${insert} SELECT ${names} FROM ${tables.documents} WHERE key > ? AND key <= ? AND valid_from <= ${at}`,
    // Keyed by its end, each row is appended behind the row before; its text is found by its beginning.
    copyPast: `${insert} SELECT ${columns.map(({ name, ofVersion }) => (name === 'key' ? 'valid_to' : ofVersion)).join(', ')} FROM ${tables.versions}
      WHERE valid_to > ? AND valid_to <= ? AND valid_from <= ${at}`,
  };
}

/** A position that becomes part of a statement. */
function checked(position: number): string {
  if (!Number.isSafeInteger(position) || position < 0) throw new Error(`${position} is no position`);
  return String(position);
}
