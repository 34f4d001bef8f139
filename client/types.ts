import type { Config } from '../config/define.ts';

/** What a client can be typed by: a configuration, or the types that `annals types` writes. */
export type AnyConfig = Config;

type Loose = { [name: string]: unknown };

/** The slugs of all collections. */
export type CollectionSlug<_C extends AnyConfig> = string;
/** The slugs of the collections of accounts. */
export type AuthSlug<_C extends AnyConfig> = string;
/** The slugs of the collections of files. */
export type UploadSlug<_C extends AnyConfig> = string;
/** The slugs of all globals. */
export type GlobalSlug<_C extends AnyConfig> = string;

type Stored = { id: string; createdAt: string; updatedAt: string };

/** A document as it is answered, its relationships followed to a depth. */
export type DocumentOf<_C extends AnyConfig, _Slug extends string, _Depth extends number = 0> = Stored & Loose;
/** What a document is created from. */
export type CreateInput<_C extends AnyConfig, _Slug extends string> = Loose;
/** The fields of a document to be changed. */
export type UpdateInput<_C extends AnyConfig, _Slug extends string> = Loose;
/** A filter of a list. */
export type WhereOf<_C extends AnyConfig, _Slug extends string> = Loose;
/** A path of a field to sort by, `-` in front for descending. */
export type SortOf<_C extends AnyConfig, _Slug extends string> = string;
/** A global as it is answered. */
export type GlobalOf<_C extends AnyConfig, _Slug extends string, _Depth extends number = 0> = Loose;
/** The fields of a global to be changed. */
export type GlobalInput<_C extends AnyConfig, _Slug extends string> = Loose;
