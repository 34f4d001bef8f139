import type { Config } from '../../config/define.ts';
import type { Answered, AnsweredGlobal, Stored, StoredGlobal } from './documents.ts';
import type { FieldsIn, Flat, IsOn } from './fields.ts';
import type { Created, Updated, UpdatedGlobal } from './inputs.ts';
import type { EntriesOf, FiltersOf, RelationsOf, SortsOf } from './paths.ts';
import type { Selected } from './select.ts';
import type { Lists, LooseConditions, PartOf, Where } from './where.ts';

/** The types of a client: a configuration, or the types that `annals types` writes. */
export type AnyConfig = Config | Written | Plain;

/** The types that `annals types` writes of a service. */
export type Written = {
  readonly collections: { readonly [slug: string]: CollectionTypes };
  readonly globals: { readonly [slug: string]: GlobalTypes };
};

/**
 * The types of one collection. `document` follows `depth`, so that one type stands for the documents of every depth.
 */
export interface CollectionTypes {
  kind: 'documents' | 'accounts' | 'files';
  /** The depth at which accounts are told who they are. */
  userDepth: number;
  depth: number;
  document: object;
  create: object;
  update: object;
  /** The filter of each path inside the document. */
  filters: object;
  /** The paths that lists can be sorted by. */
  sorts: string;
  /** The collections that paths with a single document point at, and those with several. */
  relations: object;
  lists: object;
  /** The collections that joins lead to. */
  joins?: object;
}

/** The types of one global. */
export interface GlobalTypes {
  depth: number;
  document: object;
  update: object;
}

/**
 * A configuration whose literals were not kept, for example of a plain object: it says nothing, but is not an error.
 */
type Plain = {
  readonly collections?: readonly { readonly slug: string; readonly fields: readonly object[] }[];
  readonly globals?: readonly { readonly slug: string; readonly fields: readonly object[] }[];
};

type Loose = { [name: string]: unknown };

/** The slugs of all collections. */
export type CollectionSlug<C extends AnyConfig> = SlugIn<C, 'collections'>;
/** The slugs of the collections of accounts. */
export type AuthSlug<C extends AnyConfig> = OfKind<C, 'accounts'>;
/** The slugs of the collections of files. */
export type UploadSlug<C extends AnyConfig> = OfKind<C, 'files'>;
/** The slugs of all globals. */
export type GlobalSlug<C extends AnyConfig> = SlugIn<C, 'globals'>;

/** A document as it is answered, its relationships followed to a depth. */
export type DocumentOf<C extends AnyConfig, Slug extends string, Depth extends number = 0> =
  Slug extends Known<C, 'collections'> ? DocumentIn<Collections<C>, Slug, Depth> : Stored & Loose;
/** A path to be selected of a document. */
export type SelectOf<C extends AnyConfig, Slug extends string> =
  Slug extends Known<C, 'collections'> ? PartOf<Lists<Collections<C>>, Slug, 'select'> & string : string;
/** A document with the selected members only, and its id; where nothing is selected all of it. */
export type SelectedOf<C extends AnyConfig, Slug extends string, Depth extends number, Select> = [Select] extends [
  never,
]
  ? DocumentOf<C, Slug, Depth>
  : Slug extends Known<C, 'collections'>
    ? Selected<Collections<C>, Slug, Select & string, Depth>
    : { id: string } & Loose;
/** A document of a collection of accounts. */
export type AccountOf<C extends AnyConfig, Slug extends string> =
  Slug extends Known<C, 'collections'> ? DocumentOf<C, Slug> : LooseAccount;
/** The account of the token, with the documents that its relationships lead to, as deep as `auth.depth`. */
export type UserOf<C extends AnyConfig, Slug extends string> =
  Slug extends Known<C, 'collections'>
    ? PartOf<Collections<C>, Slug, 'userDepth'> extends infer Depth extends number
      ? DocumentOf<C, Slug, Depth>
      : never
    : LooseAccount;
type LooseAccount = Stored & { email: string } & Loose;
/** A document of a collection of files. */
export type FileOf<C extends AnyConfig, Slug extends string> =
  Slug extends Known<C, 'collections'> ? DocumentOf<C, Slug> : Stored & LooseFile & Loose;
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
  Slug extends Known<C, 'collections'> ? PartOf<Collections<C>, Slug, 'create'> : Loose;
/** The fields of a document to be changed. */
export type UpdateInput<C extends AnyConfig, Slug extends string> =
  Slug extends Known<C, 'collections'> ? PartOf<Collections<C>, Slug, 'update'> : Loose;
/** A filter of a list. */
export type WhereOf<C extends AnyConfig, Slug extends string> =
  Slug extends Known<C, 'collections'> ? PartOf<Lists<Collections<C>>, Slug, 'where'> : Where<LooseConditions>;
/** A path of a field to sort by, `-` in front for descending. */
export type SortOf<C extends AnyConfig, Slug extends string> =
  Slug extends Known<C, 'collections'> ? PartOf<Lists<Collections<C>>, Slug, 'sort'> : string;
/** A path of a field whose values documents can be grouped by; of a date or time also a part, in UTC. */
export type GroupPathOf<C extends AnyConfig, Slug extends string> =
  Slug extends Known<C, 'collections'> ? FilterPathOf<C, Slug> | `${FilterPathOf<C, Slug>}.${TimePart}` : string;
type FilterPathOf<C extends AnyConfig, Slug extends string> = Exclude<keyof WhereOf<C, Slug> & string, 'and' | 'or'>;
type TimePart = 'year' | 'month' | 'day';

/** A global as it is answered. */
export type GlobalOf<C extends AnyConfig, Slug extends string, Depth extends number = 0> =
  Slug extends Known<C, 'globals'> ? DocumentIn<Globals<C>, Slug, Depth> : StoredGlobal & Loose;
/** A path to be selected of a global. */
export type GlobalSelectOf<C extends AnyConfig, Slug extends string> =
  Slug extends Known<C, 'globals'>
    ? (keyof GlobalOf<C, Slug> & string) | `${keyof GlobalOf<C, Slug> & string}.${string}`
    : string;
/** A global with the selected members only; of one through which a path goes the value is not known. */
export type SelectedGlobalOf<C extends AnyConfig, Slug extends string, Depth extends number, Select> = [
  Select,
] extends [never]
  ? GlobalOf<C, Slug, Depth>
  : Slug extends Known<C, 'globals'>
    ? Flat<{
        [Name in keyof GlobalOf<C, Slug, Depth> as Name extends HeadOf<Select> ? Name : never]: Name extends Select
          ? GlobalOf<C, Slug, Depth>[Name]
          : unknown;
      }>
    : Loose;
type HeadOf<Path> = Path extends `${infer Name}.${string}` ? Name : Path;
/** The fields of a global to be changed. */
export type GlobalInput<C extends AnyConfig, Slug extends string> =
  Slug extends Known<C, 'globals'> ? PartOf<Globals<C>, Slug, 'update'> : Loose;

type Kind = 'collections' | 'globals';

type SlugIn<C, K extends Kind> = C extends Written
  ? keyof C[K] & string
  : C extends Readonly<Record<K, readonly { readonly slug: infer Slug extends string }[]>>
    ? Slug
    : K extends keyof C
      ? string
      : never;

/** The slugs that are more than some text. */
type Known<C, K extends Kind> = string extends SlugIn<C, K> ? never : SlugIn<C, K>;

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

/** The entries of a list of a configuration by their slugs. */
type BySlug<C, K extends Kind> =
  C extends Readonly<Record<K, readonly (infer Item extends { readonly slug: string })[]>>
    ? { readonly [One in Item as One['slug']]: One }
    : unknown;

/** The types of all collections by their slugs. */
type Collections<C> = C extends Written ? C['collections'] : OfConfig<BySlug<C, 'collections'>>;
type OfConfig<Bases> = { readonly [Slug in keyof Bases]: OfCollection<Bases, Bases[Slug]> };

type Globals<C> = C extends Written ? C['globals'] : OfConfigGlobals<BySlug<C, 'collections'>, BySlug<C, 'globals'>>;
type OfConfigGlobals<Bases, All> = { readonly [Slug in keyof All]: OfGlobal<Bases, All[Slug]> };

/** The types of a collection of a configuration: the same as {@link CollectionTypes}. */
interface OfCollection<Bases, K> {
  kind: IsOn<K, 'auth'> extends true ? 'accounts' : IsOn<K, 'upload'> extends true ? 'files' : 'documents';
  userDepth: K extends { readonly auth: { readonly depth: infer Depth extends number } } ? Depth : 0;
  depth: number;
  document: Answered<Bases, K, this['depth']>;
  create: Created<K>;
  update: Updated<K>;
  filters: FiltersOf<EntriesOf<K>>;
  sorts: SortsOf<EntriesOf<K>>;
  relations: RelationsOf<EntriesOf<K>, false>;
  lists: RelationsOf<EntriesOf<K>, true>;
  joins: JoinsOf<K>;
}

type JoinsOf<K> = {
  [F in Extract<FieldsIn<K>, { readonly type: 'join'; readonly collection: string }> as F['name']]: F['collection'];
};

interface OfGlobal<Bases, G> {
  depth: number;
  document: AnsweredGlobal<Bases, G, this['depth']>;
  update: UpdatedGlobal<G>;
}

/** The document in the types of a collection or global, at a depth. */
export type DocumentIn<All, Slug, Depth extends number> = DocumentAt<All[Slug & keyof All] & { depth: Depth }>;
type DocumentAt<Types> = Types['document' & keyof Types];
