import type { CallOptions, Moment } from '../options.ts';
import type { AnyConfig, CollectionSlug, SelectOf, SortOf, WhereOf } from './config.ts';

/**
 * The options of reading a document or global: the depth of related documents, the moment, and the selected members.
 */
export type ReadOptions<Depth extends number = number, Select = string> = CallOptions & {
  /** The depth to which related documents replace their ids, 0 to 10; default 0. */
  depth?: Depth | undefined;
  /** The moment to read; default: now. */
  asOf?: Moment | undefined;
  /** Reads the drafts of a collection or global that has drafts, as far as the caller may; default: what is public. */
  draft?: boolean | undefined;
} & Ahead & {
    /** The members to return, by dotted path; default: all. */
    select?: Select | readonly Select[] | undefined;
  };

/** Reads the site as it would be; `asOf` may also be a time to come, for callers who may read drafts. */
export type Ahead = {
  /** The id of a release: reads as if it were published now. */
  release?: string | undefined;
  /** A token of `previewToken` with a `view`: reads what it shows; no credential counts. */
  preview?: string | undefined;
};

/**
 * Words to find, or a moment to read: the documents of a past moment cannot be searched. If the collections are not
 * known, the types allow both, so that a program for every service need not distinguish the two.
 */
type WordsOrMoment<C extends AnyConfig> =
  string extends CollectionSlug<C>
    ? Words & { asOf?: Moment | undefined }
    : (Words & { asOf?: undefined }) | { q?: undefined; asOf?: Moment | undefined };
type Words = {
  /** Finds only documents whose texts contain all of these words; not possible with `asOf`. */
  q?: string | undefined;
};

/** The options of the first document of a list: which documents, and in which order. */
export type FirstOptions<
  C extends AnyConfig,
  Slug extends string,
  Depth extends number = number,
  Select = string,
> = ReadOptions<Depth, Select & SelectOf<C, Slug>> &
  WordsOrMoment<C> & {
    /** The filter that documents must match; default: all documents. */
    where?: WhereOf<C, Slug> | undefined;
    /**
     * The paths to sort by, with `-` in front for descending order. Default: newest first; with `q`, best matches
     * first.
     */
    sort?: SortOf<C, Slug> | readonly SortOf<C, Slug>[] | undefined;
  };

/** The options of a list. */
export type ListOptions<
  C extends AnyConfig,
  Slug extends string,
  Depth extends number = number,
  Select = string,
> = FirstOptions<C, Slug, Depth, Select> & {
  /** The number of documents on a page, at most 100; default 10, for `findAll` 100. */
  limit?: number | undefined;
};

/** The options of a page of a list. */
export type FindOptions<
  C extends AnyConfig,
  Slug extends string,
  Depth extends number = number,
  Select = string,
> = ListOptions<C, Slug, Depth, Select> & { page?: number | undefined; count?: 'exact' | undefined };

/** The options of a page of a list whose documents are not counted. */
export type UncountedOptions<
  C extends AnyConfig,
  Slug extends string,
  Depth extends number = number,
  Select = string,
> = ListOptions<C, Slug, Depth, Select> & { page?: number | undefined; count: 'none' };

/** The options of a list with cursors. `next` is '' for the first page, then the `next` of the answer before. */
export type CursorOptions<
  C extends AnyConfig,
  Slug extends string,
  Depth extends number = number,
  Select = string,
> = ListOptions<C, Slug, Depth, Select> & { next: string; count?: 'exact' | 'none' | undefined };

/** The options of a count. */
export type CountOptions<C extends AnyConfig, Slug extends string> = CallOptions &
  WordsOrMoment<C> & { where?: WhereOf<C, Slug> | undefined; draft?: boolean | undefined } & Ahead;

/** The options of a grouping. The answer has at most `limit` groups; default 10. */
export type GroupOptions<C extends AnyConfig, Slug extends string> = CallOptions & {
  where?: WhereOf<C, Slug> | undefined;
  limit?: number | undefined;
  asOf?: Moment | undefined;
  draft?: boolean | undefined;
};

/** The options of a page of a list: its number, from 1, and its number of entries, at most 100; default 10. */
export type Paging = CallOptions & {
  limit?: number | undefined;
  page?: number | undefined;
};

/** The options of a page of references. */
export type ReferenceOptions = PageOptions & { draft?: boolean | undefined };

/** The options of a page of deleted documents. */
export type PageOptions = Paging & { asOf?: Moment | undefined };

/**
 * The options of a search: the maximum number of results (default 20) and the collections to search (default: all that
 * the caller may read).
 */
export type SearchOptions<C extends AnyConfig> = CallOptions & {
  limit?: number | undefined;
  collections?: readonly CollectionSlug<C>[] | undefined;
  draft?: boolean | undefined;
};

/** The options of a page of a history: `limit` versions after the version `next`. */
export type HistoryOptions = CallOptions & {
  limit?: number | undefined;
  next?: number | undefined;
  /** With `names`, each actor has a `label`. */
  actors?: 'ids' | 'names' | undefined;
};

/** The options of a restore that only shows its effect. */
export type DryRun = CallOptions & { dryRun: true };
