import { type AddressFilter, readWhere, type Where } from '../filter/filter.ts';

/** The state of a list, as its address has it. Null: not chosen. */
export type View = AddressFilter & {
  q: string;
  sort: string | null;
  page: number;
  limit: number | null;
  columns: string[] | null;
  status: Status | null;
};

/** The status of a document with drafts. */
type Status = (typeof statuses)[number];

/** The statuses of documents with drafts. */
export const statuses = ['published', 'changed', 'draft'] as const;

const parameters = ['q', 'f', 'status', 'sort', 'page', 'limit', 'cols'] as const;

/** The numbers of rows that a page may have. */
export const pageSizes = [10, 20, 50, 100];

/** Reads the address of a list. An invalid page or limit is ignored. */
export function readView(search: URLSearchParams): View {
  return {
    q: search.get('q') ?? '',
    ...readWhere(search.get('f')),
    status: statuses.find((status) => status === search.get('status')) ?? null,
    sort: search.get('sort') || null,
    page: numberOf(search.get('page'), Number.MAX_SAFE_INTEGER) ?? 1,
    limit: numberOf(search.get('limit'), 100),
    columns: search.get('cols')?.split(',').filter(Boolean) || null,
  };
}

function numberOf(text: string | null, most: number): number | null {
  const value = Number(text ?? Number.NaN);
  return Number.isInteger(value) && value >= 1 && value <= most ? value : null;
}

/** Changes of a view. A change of the matching documents goes back to the first page. */
export type Change = Partial<Omit<View, 'broken'>>;

/** Writes a change into the parameters of an address, and leaves all others as they are. */
export function changeView(search: URLSearchParams, change: Change): URLSearchParams {
  const next = new URLSearchParams(search);
  const set = (name: (typeof parameters)[number], value: string | null) => {
    if (value === null || value === '') next.delete(name);
    else next.set(name, value);
  };
  if ('q' in change) set('q', change.q ?? null);
  if ('where' in change) set('f', textOf(change.where ?? null));
  if ('status' in change) set('status', change.status ?? null);
  if ('sort' in change) set('sort', change.sort ?? null);
  if ('limit' in change) set('limit', change.limit?.toString() ?? null);
  if ('columns' in change) set('cols', change.columns?.join(',') ?? null);
  const page = change.page ?? 1;
  if (Object.keys(change).some((name) => name !== 'columns')) set('page', page === 1 ? null : String(page));
  return next;
}

/** The text of a condition, as the address and the API have it. */
export function textOf(where: Where | null): string {
  return where === null ? '' : JSON.stringify(where);
}

/** The part of an address that a saved view keeps: the view, without the page. */
export function queryOf(search: URLSearchParams, { page = false } = {}): string {
  const kept = new URLSearchParams();
  for (const name of parameters) {
    const value = search.get(name);
    if (value !== null && value !== '' && (page || name !== 'page')) kept.set(name, value);
  }
  return kept.toString();
}

/** Replaces the view in an address. */
export function withQuery(search: URLSearchParams, query: string): URLSearchParams {
  const next = new URLSearchParams(search);
  for (const name of parameters) next.delete(name);
  const wanted = new URLSearchParams(query);
  for (const name of parameters) {
    const value = wanted.get(name);
    if (value !== null) next.set(name, value);
  }
  return next;
}
