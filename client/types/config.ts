import type { Config } from '../../config/define.ts';
import type { DocumentAnswer, DocumentMembers, GlobalAnswer, GlobalMembers } from './documents.ts';
import type { FieldsIn, Flat, IsOn } from './fields.ts';
import type { CreateData, GlobalUpdateData, UpdateData } from './inputs.ts';
import type { PartOf } from './parts.ts';
import type { DaysOf, EntriesOf, FiltersOf, RelationsOf, SinglesOf, SortsOf, UniqueOf } from './paths.ts';
import type { SelectedDocument } from './select.ts';
import type { Lists, LooseConditions, Where } from './where.ts';

/** The source of a client's types: a configuration, or the types that `annals types` writes. */
export type AnyConfig = Config | Written | Plain;

/** The types that `annals types` writes for a service. */
export type Written = {
  readonly collections: { readonly [slug: string]: CollectionTypes };
  readonly globals: { readonly [slug: string]: GlobalTypes };
};

/** The types of a collection. `document` depends on `depth`, so that one type describes documents of every depth. */
export interface CollectionTypes {
  kind: 'documents' | 'accounts' | 'files';
  /** The depth of related documents in the result of `me`. */
  userDepth: number;
  depth: number;
  document: object;
  create: object;
  update: object;
  /** The filter of each path inside the document. */
  filters: object;
  /** The paths by which lists can be sorted. */
  sorts: string;
  /** The paths of unique fields. */
  unique: string;
  /** The paths to single numbers. */
  numbers: string;
  /** The paths to single dates and times. */
  times: string;
  /** The paths to values with a year, a month and a day, single ones and those in lists. */
  days: string;
  /**
   * For each path of a relationship to a single document, the collection to which it points; in `lists`, for
   * relationships to several documents.
   */
  relations: object;
  lists: object;
  /** For each join, its collection. */
  joins?: object;
}

/** The types of a global. */
export interface GlobalTypes {
  depth: number;
  document: object;
  update: object;
}

/**
 * A configuration whose literal types were lost, for example a plain object. It gives no types, but is not an error.
 */
type Plain = {
  readonly collections?: readonly { readonly slug: string; readonly fields: readonly object[] }[];
  readonly globals?: readonly { readonly slug: string; readonly fields: readonly object[] }[];
};

type Loose = { [name: string]: unknown };

/** The slugs of all collections. */
export type CollectionSlug<C extends AnyConfig> = SlugIn<C, 'collections'>;
/** The slugs of the auth collections. */
export type AuthSlug<C extends AnyConfig> = OfKind<C, 'accounts'>;
/** The slugs of the upload collections. */
export type UploadSlug<C extends AnyConfig> = OfKind<C, 'files'>;
/** The slugs of all globals. */
export type GlobalSlug<C extends AnyConfig> = SlugIn<C, 'globals'>;

/** A document of an answer, with related documents to a depth. */
export type DocumentOf<C extends AnyConfig, Slug extends string, Depth extends number = 0> =
  Slug extends KnownSlug<C, 'collections'> ? DocumentIn<Collections<C>, Slug, Depth> : DocumentMembers & Loose;
/** A path that `select` can name in a document. */
export type SelectOf<C extends AnyConfig, Slug extends string> =
  Slug extends KnownSlug<C, 'collections'> ? PartOf<Lists<Collections<C>>, Slug, 'select'> & string : string;
/** A document with its id and only the selected members; without a selection, with all members. */
export type SelectedOf<C extends AnyConfig, Slug extends string, Depth extends number, Select> = [Select] extends [
  never,
]
  ? DocumentOf<C, Slug, Depth>
  : Slug extends KnownSlug<C, 'collections'>
    ? SelectedDocument<Collections<C>, Slug, Select & string, Depth>
    : { id: string } & Loose;
/** A document of an auth collection. */
export type AccountOf<C extends AnyConfig, Slug extends string> =
  Slug extends KnownSlug<C, 'collections'> ? DocumentOf<C, Slug> : LooseAccount;
/** The logged-in account, with related documents to the depth `auth.depth`. */
export type UserOf<C extends AnyConfig, Slug extends string> =
  Slug extends KnownSlug<C, 'collections'>
    ? PartOf<Collections<C>, Slug, 'userDepth'> extends infer Depth extends number
      ? DocumentOf<C, Slug, Depth>
      : never
    : LooseAccount;
type LooseAccount = DocumentMembers & { email: string } & Loose;
/** A document of an upload collection. */
export type FileOf<C extends AnyConfig, Slug extends string> =
  Slug extends KnownSlug<C, 'collections'> ? DocumentOf<C, Slug> : DocumentMembers & LooseFile & Loose;
type LooseFile = {
  filename: string;
  mimeType: string;
  filesize: number;
  width: number | null;
  height: number | null;
  sha256: string;
  url: string;
};
/** The data of a new document. */
export type CreateInput<C extends AnyConfig, Slug extends string> =
  Slug extends KnownSlug<C, 'collections'> ? PartOf<Collections<C>, Slug, 'create'> : Loose;
/** The fields to change in a document. */
export type UpdateInput<C extends AnyConfig, Slug extends string> =
  Slug extends KnownSlug<C, 'collections'> ? PartOf<Collections<C>, Slug, 'update'> : Loose;
/** A filter of a list. */
export type WhereOf<C extends AnyConfig, Slug extends string> =
  Slug extends KnownSlug<C, 'collections'> ? PartOf<Lists<Collections<C>>, Slug, 'where'> : Where<LooseConditions>;
/** The path of a field to sort by, with `-` in front for descending order. */
export type SortOf<C extends AnyConfig, Slug extends string> =
  Slug extends KnownSlug<C, 'collections'> ? PartOf<Lists<Collections<C>>, Slug, 'sort'> : string;
/** The path of a field by whose values documents can be grouped; for a date also its year, month or day, in UTC. */
export type GroupPathOf<C extends AnyConfig, Slug extends string> =
  Slug extends KnownSlug<C, 'collections'> ? PartOf<Lists<Collections<C>>, Slug, 'group'> & string : string;
/** The path of a single number, of which documents have a sum and a mean. */
export type NumberPathOf<C extends AnyConfig, Slug extends string> =
  Slug extends KnownSlug<C, 'collections'> ? PartOf<Lists<Collections<C>>, Slug, 'sum'> & string : string;
/** The path of a single number, date or time, of which documents have a minimum and a maximum. */
export type OrderedPathOf<C extends AnyConfig, Slug extends string> =
  Slug extends KnownSlug<C, 'collections'> ? PartOf<Lists<Collections<C>>, Slug, 'min'> & string : string;
/** The path of a unique field. */
export type UniquePathOf<C extends AnyConfig, Slug extends string> =
  Slug extends KnownSlug<C, 'collections'> ? PartOf<Collections<C>, Slug, 'unique'> & string : string;

/** A global of an answer. */
export type GlobalOf<C extends AnyConfig, Slug extends string, Depth extends number = 0> =
  Slug extends KnownSlug<C, 'globals'> ? DocumentIn<Globals<C>, Slug, Depth> : GlobalMembers & Loose;
/** A path that `select` can name in a global. */
export type GlobalSelectOf<C extends AnyConfig, Slug extends string> =
  Slug extends KnownSlug<C, 'globals'>
    ? (keyof GlobalOf<C, Slug> & string) | `${keyof GlobalOf<C, Slug> & string}.${string}`
    : string;
/** A global with only the selected members. If a path leads through a member, the type of its value is unknown. */
export type SelectedGlobalOf<C extends AnyConfig, Slug extends string, Depth extends number, Select> = [
  Select,
] extends [never]
  ? GlobalOf<C, Slug, Depth>
  : Slug extends KnownSlug<C, 'globals'>
    ? Flat<{
        [Name in keyof GlobalOf<C, Slug, Depth> as Name extends HeadOf<Select> ? Name : never]: Name extends Select
          ? GlobalOf<C, Slug, Depth>[Name]
          : unknown;
      }>
    : Loose;
type HeadOf<Path> = Path extends `${infer Name}.${string}` ? Name : Path;
/** The fields to change in a global. */
export type GlobalInput<C extends AnyConfig, Slug extends string> =
  Slug extends KnownSlug<C, 'globals'> ? PartOf<Globals<C>, Slug, 'update'> : Loose;

type Kind = 'collections' | 'globals';

type SlugIn<C, K extends Kind> = C extends Written
  ? keyof C[K] & string
  : C extends Readonly<Record<K, readonly { readonly slug: infer Slug extends string }[]>>
    ? Slug
    : K extends keyof C
      ? string
      : never;

/** The slugs, if their literal types are known. */
type KnownSlug<C, K extends Kind> = string extends SlugIn<C, K> ? never : SlugIn<C, K>;

type OfKind<C, K extends CollectionTypes['kind']> =
  string extends SlugIn<C, 'collections'>
    ? string
    : SlugIn<C, 'collections'> extends infer Slug
      ? Slug extends string
        ? PartOf<Collections<C>, Slug, 'kind'> extends K
          ? Slug
          : never
        : never
      : never;

/** The entries of a list of a configuration, by slug. */
type BySlug<C, K extends Kind> =
  C extends Readonly<Record<K, readonly (infer Item extends { readonly slug: string })[]>>
    ? { readonly [One in Item as One['slug']]: One }
    : unknown;

/** The types of all collections, by slug. */
type Collections<C> = C extends Written ? C['collections'] : OfConfig<BySlug<C, 'collections'>>;
type OfConfig<Bases> = { readonly [Slug in keyof Bases]: OfCollection<Bases, Bases[Slug]> };

type Globals<C> = C extends Written ? C['globals'] : OfConfigGlobals<BySlug<C, 'collections'>, BySlug<C, 'globals'>>;
type OfConfigGlobals<Bases, All> = { readonly [Slug in keyof All]: OfGlobal<Bases, All[Slug]> };

/** The types of a collection, derived from a configuration: see {@link CollectionTypes}. */
interface OfCollection<Bases, K> {
  kind: IsOn<K, 'auth'> extends true ? 'accounts' : IsOn<K, 'upload'> extends true ? 'files' : 'documents';
  userDepth: K extends { readonly auth: { readonly depth: infer Depth extends number } } ? Depth : 0;
  depth: number;
  document: DocumentAnswer<Bases, K, this['depth']>;
  create: CreateData<K>;
  update: UpdateData<K>;
  filters: FiltersOf<EntriesOf<K>>;
  sorts: SortsOf<EntriesOf<K>>;
  unique: UniqueOf<EntriesOf<K>>;
  numbers: SinglesOf<EntriesOf<K>, 'number'>;
  times: SinglesOf<EntriesOf<K>, 'date' | 'datetime' | 'time'>;
  days: DaysOf<EntriesOf<K>>;
  relations: RelationsOf<EntriesOf<K>, false>;
  lists: RelationsOf<EntriesOf<K>, true>;
  joins: JoinsOf<K>;
}

type JoinsOf<K> = {
  [F in Extract<FieldsIn<K>, { readonly type: 'join'; readonly collection: string }> as F['name']]: F['collection'];
};

interface OfGlobal<Bases, G> {
  depth: number;
  document: GlobalAnswer<Bases, G, this['depth']>;
  update: GlobalUpdateData<G>;
}

/** The document type of a collection or global, at a depth. */
export type DocumentIn<All, Slug, Depth extends number> = DocumentAt<All[Slug & keyof All] & { depth: Depth }>;
type DocumentAt<Types> = Types['document' & keyof Types];
