import type { CallOptions, Moment } from '../options.ts';
import type { AnyConfig, CollectionSlug, SelectOf, SortOf, WhereOf } from './config.ts';

/**
 * How a document or global is read: how many levels of related documents stand in it, as of when, and which members.
 */
export type ReadOptions<Depth extends number = number, Select = string> = CallOptions & {
  depth?: Depth | undefined;
  asOf?: Moment | undefined;
  select?: Select | readonly Select[] | undefined;
};

/** The documents that are read, and their order. */
export type ListOptions<
  C extends AnyConfig,
  Slug extends string,
  Depth extends number = number,
  Select = string,
> = ReadOptions<Depth, Select & SelectOf<C, Slug>> & {
  where?: WhereOf<C, Slug> | undefined;
  sort?: SortOf<C, Slug> | readonly SortOf<C, Slug>[] | undefined;
  limit?: number | undefined;
  /** Only documents whose texts hold each of these words; not with `asOf`. */
  q?: string | undefined;
};

/** A page of a list. */
export type FindOptions<
  C extends AnyConfig,
  Slug extends string,
  Depth extends number = number,
  Select = string,
> = ListOptions<C, Slug, Depth, Select> & { page?: number | undefined; count?: 'exact' | undefined };

/** A page of a list that is not counted. */
export type UncountedOptions<
  C extends AnyConfig,
  Slug extends string,
  Depth extends number = number,
  Select = string,
> = ListOptions<C, Slug, Depth, Select> & { page?: number | undefined; count: 'none' };

/** A list after a place in it: empty to begin, then the `nextCursor` of each answer. */
export type CursorOptions<
  C extends AnyConfig,
  Slug extends string,
  Depth extends number = number,
  Select = string,
> = ListOptions<C, Slug, Depth, Select> & { after: string; count?: 'exact' | 'none' | undefined };

/** The documents that are counted. */
export type CountOptions<C extends AnyConfig, Slug extends string> = CallOptions & {
  where?: WhereOf<C, Slug> | undefined;
  /** As in a list. */
  q?: string | undefined;
  asOf?: Moment | undefined;
};

/** Documents that are grouped: at most `limit` (100) groups are in the answer. */
export type GroupOptions<C extends AnyConfig, Slug extends string> = CallOptions & {
  where?: WhereOf<C, Slug> | undefined;
  limit?: number | undefined;
  asOf?: Moment | undefined;
};

/** A page of what points at a document, or of deleted documents. */
export type PageOptions = CallOptions & {
  limit?: number | undefined;
  page?: number | undefined;
  asOf?: Moment | undefined;
};

/** How many documents a search gives, and of which collections; 20, of all that the caller may read. */
export type SearchOptions<C extends AnyConfig> = CallOptions & {
  limit?: number | undefined;
  collections?: readonly CollectionSlug<C>[] | undefined;
};

/** A page of a history: `limit` versions after the version `after`. */
export type HistoryOptions = CallOptions & {
  limit?: number | undefined;
  after?: number | undefined;
  /** `names`: each actor has a `label`. */
  actors?: 'ids' | 'names' | undefined;
};

/** A restore that is only tried. */
export type DryRun = CallOptions & { dryRun: true };
