import type { RichTextFeature } from './schema.ts';

/** A JSON value that may be read-only, as `const` inference makes it. */
export type ConstantJson =
  | null
  | boolean
  | number
  | string
  | readonly ConstantJson[]
  | { readonly [key: string]: ConstantJson };

/** Hints to the admin application about a field. The service itself ignores them. */
export type AdminConfig = {
  /** A text that the form shows beside the field. */
  description?: string;
  /** Leaves the field out of the form. */
  hidden?: boolean;
  /** Shows the field in the form, but does not let users change it there. */
  readOnly?: boolean;
  /** The text that an empty input shows. */
  placeholder?: string;
  /** A `where` object: the form shows the field while the document matches it. */
  condition?: { readonly [key: string]: ConstantJson };
  /** The column of the form in which the field is shown; default `main`. */
  position?: 'main' | 'side';
  /** The width of the field, as a part of its column; default `full`. */
  width?: 'quarter' | 'third' | 'half' | 'two-thirds' | 'three-quarters' | 'full';
  /** The name of the tab in which the field is shown. */
  tab?: string;
  /** The height of a `textarea`, `richText` or `json`, in lines of text, 1 to 100. */
  rows?: number;
  /** The step by which the form changes a `number`. */
  step?: number;
  /** The language of the code in a `textarea` or `json`, for example `html`. */
  language?: string;
  /** For a `text`: shows it as a colour, or as a slug that is made from the field `from`. */
  displayAs?: 'color' | 'slug';
  /** For a `text` with `displayAs: 'slug'`: the field beside it from which the slug is made. */
  from?: string;
  /** For `array` and `blocks`: the field whose value names a collapsed item. */
  summary?: string;
};

/** Hints to the admin application about a global. The service itself ignores them. */
export type GlobalAdminConfig = {
  /** The heading in the navigation under which the entry is listed. */
  group?: string;
  /** A text that the admin application shows about the collection or global. */
  description?: string;
  /** Leaves the entry out of the navigation; its routes stay. */
  hidden?: boolean;
  /** The URL of the page that shows a preview. `{token}` in it is replaced by a preview token. */
  preview?: string;
};

/** Hints to the admin application about a collection. The service itself uses only `useAsTitle` and `searchFields`. */
export type CollectionAdminConfig = GlobalAdminConfig & {
  /**
   * The field whose value names a document; default: the first `text` field, then the name of the file, then the id.
   */
  useAsTitle?: string;
  /** The fields that `q` and `/api/search` search, with an index; default: all plain text fields, without an index. */
  searchFields?: readonly string[];
  /** The name of the icon in the navigation. */
  icon?: string;
  /** The number of documents on a page of the list, 1 to 100. */
  pageSize?: number;
  /** The order of the list, in the syntax of the query parameter `sort`: `-publishedAt,title`. */
  defaultSort?: string;
  /** The fields that the list shows; a dotted path leads into objects. */
  defaultColumns?: readonly string[];
};

/** The options of the admin application as a whole. */
export type WholeAdminConfig = {
  /** The title; default `Annals`. */
  title?: string;
  /** The logo: an `http:` or `https:` URL, or a path that begins with `/`. */
  logo?: string;
  /**
   * The admin collection: its users log in to the admin application, and may do everything unless a rule says
   * otherwise. Default `__admins`, or the first auth collection if there is no `__admins`.
   */
  user?: string;
};

/** The features of the rich text editor; default: all of them. */
export type RichTextConfig = { features: readonly RichTextFeature[] };
