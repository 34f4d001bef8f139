import type { AdminConfig, ConstantJson, RichTextConfig } from './define-admin.ts';
import type { FieldHook, FieldRule } from './model.ts';

/** A rule, alone or with its author's words, which the log records beside its fingerprint. */
export type RuleConfig<Rule> = Rule | { rule: Rule; description: string };

/** One hook or several; several run in order, each on what the one before returned. */
export type OneOrMore<T> = T | readonly T[];

type Named = {
  /** Letters, digits and `_`, at most 64; not `id`, `createdAt`, `updatedAt`, `and`, `or`. */
  name: string;
  label?: string;
  access?: { read?: RuleConfig<FieldRule>; create?: RuleConfig<FieldRule>; update?: RuleConfig<FieldRule> };
  hooks?: { beforeChange?: OneOrMore<FieldHook>; afterRead?: OneOrMore<FieldHook> };
  admin?: AdminConfig;
};

type Stored<Value> = Named & {
  /** Refuses null, a missing value on create, '' for texts and [] for lists. */
  required?: boolean;
  /** Used where a value is missing, not where it is null. A function is called each time. */
  defaultValue?: Value | (() => Value);
  /** The name under which the values were stored before. */
  renamedFrom?: string;
  /** Lets callers filter, sort and search by the stored value, although a read hook shows them another. */
  queryable?: boolean;
};

type Keyed = { unique?: boolean; index?: boolean };

/** For texts: characters. For lists: items; an empty list that is not required passes. */
type Lengths = { minLength?: number; maxLength?: number };

/** An option of a select: what is stored, with a label where that is another. */
export type OptionConfig = string | { label?: string; value: string };

/** A text. `email` and `url` are held to their form. */
export type TextConfig = Stored<string> &
  Keyed &
  Lengths & {
    type: 'text' | 'textarea' | 'email' | 'url';
    /** The source of a regular expression (flag `u`) that must match the whole value. */
    pattern?: string;
    /**
     * Lets the pattern be one that is matched by trying one way after the other, as with a backreference: a value may
     * take very long.
     */
    allowBacktracking?: boolean;
  };

/** A number. */
export type NumberConfig = Stored<number> & Keyed & { type: 'number'; min?: number; max?: number; integer?: boolean };

/** True or false. */
export type BooleanConfig = Stored<boolean> & { type: 'boolean'; index?: boolean };

/** `date` as `2026-11-22`, `datetime` in ISO 8601 with a zone, `time` as `09:30`. */
export type DateConfig = Stored<string> & Keyed & { type: 'date' | 'datetime' | 'time' };

/** One of the options. */
export type SelectConfig = Stored<string> & Keyed & { type: 'select' | 'radio'; options: readonly OptionConfig[] };

/** A list of options, each once. */
export type MultiSelectConfig = Stored<readonly string[]> &
  Lengths & { type: 'multiSelect'; options: readonly OptionConfig[] };

/** The id of a document of another collection, or a list of them; `upload` points to a collection of files. */
export type RelationshipConfig = Stored<string | readonly string[]> &
  Keyed &
  Lengths & {
    type: 'relationship' | 'upload';
    /** The slug of the collection that it points to. */
    relationTo: string;
    hasMany?: boolean;
  };

/** Any JSON; `richText` is the JSON of an editor. */
export type JsonConfig =
  | (Stored<ConstantJson> & { type: 'json' })
  | (Stored<ConstantJson> & { type: 'richText'; richText?: RichTextConfig });

/** Fields under one name. */
export type ObjectConfig = Stored<{ readonly [key: string]: ConstantJson }> & {
  type: 'object';
  fields: readonly FieldConfig[];
};

/** A list of objects with the same fields. */
export type ArrayConfig = Stored<readonly ConstantJson[]> & Lengths & { type: 'array'; fields: readonly FieldConfig[] };

/** One type of the blocks of a list; each block says it in `blockType`. */
export type BlockConfig = { slug: string; label?: string; fields: readonly FieldConfig[] };

/** A list of objects of several types. */
export type BlocksConfig = Stored<readonly ConstantJson[]> &
  Lengths & { type: 'blocks'; blocks: readonly BlockConfig[] };

/** Read-only: the documents of `collection` whose field `on` points here. */
export type JoinConfig = Named & {
  type: 'join';
  collection: string;
  on: string;
  /** How many of them stand in a document, the first by `sort`; default: all. */
  limit?: number;
  /** Fields of `collection`, separated by commas, `-` in front for descending; default: the order of their creation. */
  sort?: string;
};

/** Layout only: its fields stand where the row stands. */
export type RowConfig = { type: 'row'; label?: string; fields: readonly FieldConfig[]; admin?: AdminConfig };

/** One field, by its type. */
export type FieldConfig =
  | TextConfig
  | NumberConfig
  | BooleanConfig
  | DateConfig
  | SelectConfig
  | MultiSelectConfig
  | RelationshipConfig
  | JsonConfig
  | ObjectConfig
  | ArrayConfig
  | BlocksConfig
  | JoinConfig
  | RowConfig;
