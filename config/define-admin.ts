import type { RichTextFeature } from './schema.ts';

/** A JSON value that may be read-only, as `const` inference makes it. */
export type ConstantJson =
  | null
  | boolean
  | number
  | string
  | readonly ConstantJson[]
  | { readonly [key: string]: ConstantJson };

/** Hints to the admin UI about a field; the service itself does nothing with it. */
export type AdminConfig = {
  description?: string;
  hidden?: boolean;
  readOnly?: boolean;
  placeholder?: string;
  /** A where object: the field is shown while the document matches it. */
  condition?: { readonly [key: string]: ConstantJson };
  /** The column of the form that it stands in; default `main`. */
  position?: 'main' | 'side';
  /** The part of its column that it takes; default `full`. */
  width?: 'quarter' | 'third' | 'half' | 'two-thirds' | 'three-quarters' | 'full';
  /** The name of the tab that it stands in. */
  tab?: string;
  /** Lines of text that a `textarea`, `richText` or `json` shows. */
  rows?: number;
  /** The step of a `number`. */
  step?: number;
  /** The language of a `textarea` or `json` that holds code, for example `html`. */
  language?: string;
  /** Of a `text`: `color`, or `slug`, which is made of the field `from` beside it. */
  displayAs?: 'color' | 'slug';
  from?: string;
  /** Of `array` and `blocks`: the field that a folded item is called by. */
  summary?: string;
};

/** Hints to the admin UI about a global; the service itself does nothing with them. */
export type GlobalAdminConfig = {
  /** The heading under which it stands in the navigation. */
  group?: string;
  description?: string;
  /** Leaves it out of the navigation; its routes stay. */
  hidden?: boolean;
  /** The page that shows a draft: a URL with `{token}`, which stands for a preview token. */
  preview?: string;
};

/** Hints to the admin UI about a collection; of these the service itself uses `useAsTitle` and `searchFields`. */
export type CollectionAdminConfig = GlobalAdminConfig & {
  /** The field that names a document; default: the first `text` field, then the name of the file, then the id. */
  useAsTitle?: string;
  /** The fields that `q` and `/api/search` look into, kept in an index; default: all plain texts, without an index. */
  searchFields?: readonly string[];
  icon?: string;
  /** Documents on a page, 1 to 100. */
  pageSize?: number;
  /** As `sort` of a request: `-publishedAt,title`. */
  defaultSort?: string;
  /** The fields that a list shows, by dotted path through objects. */
  defaultColumns?: readonly string[];
};

/** The admin UI as a whole. */
export type WholeAdminConfig = {
  /** Default `Annals`. */
  title?: string;
  /** The address of a picture. */
  logo?: string;
  /** The auth collection of its users; default `__admins`, else the first one. */
  user?: string;
};

/** The features of the editor of rich text; without it, all. */
export type RichTextConfig = { features: readonly RichTextFeature[] };
