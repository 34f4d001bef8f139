import { useEffect, useMemo } from 'react';
import { useSearchParams } from 'wouter';
import type { Page } from '../../../../../client/index.ts';
import { type Collection, isOfDrafts, viewOf } from '../../../schema/model.ts';
import { useAsOf } from '../../../service/as-of.ts';
import { client } from '../../../service/client.ts';
import { useModel } from '../../../service/model.tsx';
import { storageNameOf } from '../../../service/place.ts';
import { usePreferences } from '../../../service/preferences.ts';
import { keys, useRead } from '../../../service/queries.ts';
import { nameOf, useAccount } from '../../../service/session.ts';
import { useWords } from '../../../words/index.ts';
import { type Filter, filterOf, type Where, whereOf } from '../filter/filter.ts';
import { type Column, columnsOf, defaultColumns, named, selectOf } from './columns.ts';
import { type Change, changeView, queryOf, readView, type View, withQuery } from './view.ts';

/** A row: a document with the selected members. */
export type Row = { id: string; [field: string]: unknown };

type ChangeOptions = { replace?: boolean };

/** The state of a list, read from the address, and the functions that change it. */
export type ListState = {
  collection: Collection;
  view: View;
  filter: Filter;
  /** All columns that the list can have, and those that are shown. */
  all: Column[];
  columns: Column[];
  limit: number;
  sort: string | null;
  /** False at a moment of the past: only the documents of today can be searched. */
  isSearchable: boolean;
  query: string;
  change: (change: Change, options?: ChangeOptions) => void;
  show: (query: string) => void;
};

const usualLimit = 20;

/** Reads the address of a list. */
export function useListState(collection: Collection): ListState {
  const model = useModel();
  const words = useWords();
  const asOf = useAsOf();
  const [search, setSearch] = useSearchParams();
  const text = search.toString();
  const all = useMemo(() => columnsOf(collection, model, words), [collection, model, words]);
  const view = useMemo(() => readView(new URLSearchParams(text)), [text]);
  const chosen = view.columns === null ? [] : named(all, view.columns);
  const q = asOf === null ? view.q : '';
  return {
    collection,
    view,
    filter: filterOf(view.where),
    all,
    columns: chosen.length > 0 ? chosen : defaultColumns(collection, all),
    limit: view.limit ?? collection.hints.pageSize ?? usualLimit,
    // A search gives the best match first.
    sort: view.sort ?? (q === '' ? (collection.hints.defaultSort ?? null) : null),
    isSearchable: asOf === null,
    query: queryOf(search),
    change: (change, options) => setSearch((now) => changeView(now, change), options),
    show: (query) => setSearch((now) => withQuery(now, query)),
  };
}

/** The query of a list without its page, for callers that read the whole list. */
export function requestOf({ view, filter, sort, columns, collection, isSearchable }: ListState) {
  const isDraft = isOfDrafts(collection);
  const where = bothOf(whereOf(filter), isDraft && view.status !== null ? { __status: { equals: view.status } } : null);
  return {
    select: selectOf(columns, collection),
    ...viewOf(collection),
    ...(where === null ? {} : { where: where as never }),
    ...(isSearchable && view.q.trim() !== '' ? { q: view.q.trim() } : {}),
    ...(sort === null ? {} : { sort }),
  };
}

/** A condition that documents meet if they meet two others. */
function bothOf(one: Where | null, other: Where | null): Where | null {
  return one === null || other === null ? (one ?? other) : { and: [one, other] };
}

/** Reads the rows of a page; the rows of the previous page are shown until they come. */
export function useRows(state: ListState) {
  const { slug } = state.collection;
  const query = { ...requestOf(state), limit: state.limit, page: state.view.page };
  return useRead(
    keys.list(slug, query),
    (reading): Promise<Page<Row>> => client.collection(slug).find({ ...query, ...reading }),
    { keep: true, enabled: state.view.broken === null },
  );
}

/**
 * Keeps the view of a list for as long as the tab is open, so that every way back leads to the same view. A list that
 * is opened for the first time begins with the user's default view.
 */
export function useKeptView({ collection: { slug } }: ListState): void {
  const [search, setSearch] = useSearchParams();
  const name = storageNameOf(nameOf(useAccount()), 'list', slug);
  const { data: preferences } = usePreferences();
  const isPlain = queryOf(search, { page: true }) === '';
  const isKnown = sessionStorage.getItem(name) !== null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only as the list opens; later, no parameters is a choice
  useEffect(() => {
    const kept = sessionStorage.getItem(name);
    if (isPlain && kept) setSearch((now) => withQuery(now, kept), { replace: true });
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the preferences come
  useEffect(() => {
    const views = preferences?.views?.[slug];
    const query = views?.default === undefined ? undefined : views.named?.[views.default];
    if (!isKnown && isPlain && query) setSearch((now) => withQuery(now, query), { replace: true });
  }, [preferences]);
  const query = queryOf(search, { page: true });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the preferences may still bring a view
  useEffect(() => {
    if (query !== '' || isKnown || preferences !== undefined) sessionStorage.setItem(name, query);
  }, [name, query, preferences !== undefined]);
}
