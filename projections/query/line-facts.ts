import type { Tables } from '../tables/tables.ts';
import { hasDraftRows, rowOf, valueAt } from '../tables/value-locations.ts';
import type { Prepare } from './lists.ts';

/**
 * How a document is published: `publishedAt` in milliseconds since the epoch, null of a document that is not public;
 * `editors` are the callers who changed what is not public, each once.
 */
export type LineFacts = {
  status: 'published' | 'changed' | 'draft';
  publishedAt: number | null;
  review: 'open' | 'refused' | null;
  editors: readonly string[];
};

/** The facts of documents with drafts, by id. A document that is not there is missing. */
export function lineFactsIn(tables: Tables, ids: readonly string[], prepare: Prepare): Map<string, LineFacts> {
  const row = rowOf({ tables, alias: 'd' });
  const ofRow = (name: string) => valueAt({ ...row, path: [name] }, 'text').text;
  const hasEditors = hasDraftRows(tables);
  const members = [
    'd.id',
    ofRow('__status'),
    ofRow('__publishedAt'),
    ofRow('__review'),
    hasEditors ? 'json(d.editors)' : `json('{}')`,
  ];
  const select = prepare<string>(
    `SELECT json_array(${members.join(', ')}) FROM ${tables.documents} AS d WHERE d.id IN (SELECT value FROM json_each(?))`,
  );
  return new Map(select.all(JSON.stringify(ids)).map((text) => factsOf(JSON.parse(text))));
}

type Row = [string, LineFacts['status'], number | null, LineFacts['review'], { [field: string]: readonly string[] }];

function factsOf([id, status, publishedAt, review, editors]: Row): [string, LineFacts] {
  return [id, { status, publishedAt, review, editors: [...new Set(Object.values(editors).flat())] }];
}
