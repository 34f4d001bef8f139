import type { CallOptions, KeyedOptions, WriteOptions } from '../options.ts';
import type { Page } from './answers.ts';
import type { AnyConfig, CollectionSlug, GlobalSlug } from './config.ts';
import type { Paging } from './reads.ts';

/** The state of a release. `open`: it has no time, `scheduled`: it has one that is still to come. */
export type ReleaseState = 'open' | 'scheduled' | 'published' | 'failed' | 'archived';

/** A problem of a release. `field` is a path: in an item from the item on, in a check from the release on. */
export type ReleaseProblem = { field: string; code: string; message: string };

type ReleaseActor = { type: 'user' | 'apiKey' | 'system' | 'anonymous'; id?: string };

/** A release in a list. Times are ISO 8601; `at` is when it is published, or was to be. */
export type ListedRelease = {
  id: string;
  title: string;
  description: string | null;
  state: ReleaseState;
  at: string | null;
  timeZone: string | null;
  createdAt: string;
  createdBy: ReleaseActor;
  scheduledBy: ReleaseActor | null;
  publishedAt: string | null;
  /** The id in each event of the publication, by which `client.undo` takes it back. */
  batch: string | null;
  version: number;
  itemCount: number;
};

type OfItem = {
  action: 'publish' | 'unpublish';
  /** The version whose draft becomes public; null for `unpublish`. */
  version: number | null;
  /** The newest version of the draft; null if the document is gone. */
  newest: number | null;
  title: string | null;
  problems: ReleaseProblem[];
};

/** An item of a release: a document or a global. */
export type ReleaseItem = ({ collection: string; id: string } & OfItem) | ({ global: string } & OfItem);

/** A release with its items. */
export type Release = Omit<ListedRelease, 'itemCount'> & { items: ReleaseItem[] };

/** The findings about a release that is not published. */
export type ReleaseCheck = {
  problems: ReleaseProblem[];
  /** Public values that changed after the change that replaces them. */
  overwritten: { field: string; now: unknown; then: unknown }[];
  /** Documents that are referred to, and that readers would not see. */
  notPublished: { field: string; collection: string; id: string; title: string }[];
  /** Other releases that are still to come, with the same document. */
  releases: { field: string; id: string; title: string }[];
};

/** The document or global of an item. */
export type ReleaseTarget<C extends AnyConfig> =
  | { collection: CollectionSlug<C>; id: string }
  | { global: GlobalSlug<C> };

/** An item to set. Without `version` it publishes the newest version of the draft, as it is now. */
export type ReleaseItemInput<C extends AnyConfig> =
  | { collection: CollectionSlug<C>; id: string; action?: 'publish' | 'unpublish'; version?: number }
  | { global: GlobalSlug<C>; action?: 'publish'; version?: number };

/** The data of a new release. With `at` it is published at that time, with `publish` at once. */
export type ReleaseInput<C extends AnyConfig> = {
  title: string;
  description?: string | null;
  /** A date and time with a zone. */
  at?: string | null;
  /** The IANA name of the time zone to show `at` in. */
  timeZone?: string | null;
  items?: readonly ReleaseItemInput<C>[];
  publish?: boolean;
};

/** The methods for releases. */
export type Releases<in out C extends AnyConfig> = {
  /** A page of releases, latest time first. `state` is one, or several with commas between. */
  list: (
    options?: Paging & { state?: string | undefined; from?: string | undefined; to?: string | undefined },
  ) => Promise<Page<ListedRelease>>;
  get: (id: string, options?: CallOptions) => Promise<Release>;
  create: (input: ReleaseInput<C>, options?: KeyedOptions) => Promise<Release>;
  update: (
    id: string,
    data: { title?: string; description?: string | null },
    options?: WriteOptions,
  ) => Promise<Release>;
  /** Adds items, or replaces those about the same documents. */
  setItems: (id: string, items: readonly ReleaseItemInput<C>[], options?: WriteOptions) => Promise<Release>;
  removeItem: (id: string, target: ReleaseTarget<C>, options?: WriteOptions) => Promise<Release>;
  schedule: (id: string, time: { at: string; timeZone?: string | null }, options?: WriteOptions) => Promise<Release>;
  unschedule: (id: string, options?: WriteOptions) => Promise<Release>;
  /** Tells what would be wrong if the release were published now. */
  check: (id: string, options?: CallOptions) => Promise<ReleaseCheck>;
  publish: (id: string, options?: WriteOptions) => Promise<Release>;
  /** Archives a release that is not published. */
  archive: (id: string, options?: WriteOptions) => Promise<Release>;
};

/** The view of a preview token: a release, drafts that anybody could read if they were public, or a time to come. */
export type PreviewView = { release: string } | { draft: boolean } | { asOf: string };

/** A request for a token of a view; `expiresIn` in seconds, at most 30 days, default 7. */
export type NewViewToken = { view: PreviewView; expiresIn?: number | undefined };

/** A token; `expiresAt` is there for a view. */
export type ViewToken = { token: string; expiresAt?: string };

/** A token of a view, without the token itself. */
export type KeptPreviewToken = { id: string; view: PreviewView; maker: string; createdAt: string; expiresAt: string };

/** Calls about the tokens of views. */
export type PreviewTokens = {
  list: (options?: Paging) => Promise<Page<KeptPreviewToken>>;
  /** Takes a token back, and gives it as it was. */
  revoke: (id: string, options?: CallOptions) => Promise<KeptPreviewToken>;
};
