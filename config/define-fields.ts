import type { AdminConfig, ConstantJson, RichTextConfig } from './define-admin.ts';
import type { FieldHook, FieldRule } from './model.ts';

/** A rule, or a rule with a description. The log records the description beside the rule's fingerprint. */
export type RuleConfig<Rule> = Rule | { rule: Rule; description: string };

/** One hook or several. Several hooks run in order, each on the result of the one before. */
export type OneOrMore<T> = T | readonly T[];

type FieldBase = {
  /**
   * Letters, digits and `_`, at most 64 characters, not beginning with a digit or `__`. `and` and `or` are reserved,
   * and at the top level `id`, `createdAt` and `updatedAt`.
   */
  name: string;
  /** The name of the field for people. */
  label?: string;
  /**
   * The rules that decide who may read and write the field; default: every caller who may read or write the document.
   */
  access?: { read?: RuleConfig<FieldRule>; create?: RuleConfig<FieldRule>; update?: RuleConfig<FieldRule> };
  /** Functions that change the value before a write or after a read. */
  hooks?: { beforeChange?: OneOrMore<FieldHook>; afterRead?: OneOrMore<FieldHook> };
  /** Hints to the admin application. */
  admin?: AdminConfig;
};

type ValueField<Value> = FieldBase & {
  /** Refuses null and, on create, a missing value; for texts also '', for lists also []. */
  required?: boolean;
  /** The value to use if none is sent; null does not count as missing. A function is called each time. */
  defaultValue?: Value | (() => Value);
  /** The previous name of the field, under which older values are stored. */
  renamedFrom?: string;
  /** Lets callers filter, sort and search by the stored value, although a read hook shows them another value. */
  queryable?: boolean;
};

type IndexOptions = {
  /** Refuses a value that another document of the collection has. A unique field also has an index. */
  unique?: boolean;
  /** Adds an index for filters and sorts by the field. Each index makes writes a little slower. */
  index?: boolean;
};

/**
 * Bounds of the length, in characters for texts and in items for lists. A list that is not required may always be
 * empty.
 */
type LengthOptions = { minLength?: number; maxLength?: number };

/** An option of a select: the stored value, or the value with a label for people. */
export type OptionConfig = string | { label?: string; value: string };

/** A text. The service checks the form of an `email` and a `url`. */
export type TextConfig = ValueField<string> &
  IndexOptions &
  LengthOptions & {
    type: 'text' | 'textarea' | 'email' | 'url';
    /** The source of a regular expression (flag `u`) that must match the whole value. */
    pattern?: string;
    /**
     * Allows a pattern that can only be matched by backtracking, for example one with a backreference. A single value
     * may then take very long; set `maxLength` too.
     */
    allowBacktracking?: boolean;
  };

/** A number. */
export type NumberConfig = ValueField<number> &
  IndexOptions & {
    type: 'number';
    /** The smallest value. */
    min?: number;
    /** The greatest value. */
    max?: number;
    /** Refuses a number that is not whole. */
    integer?: boolean;
  };

/** `true` or `false`. */
export type BooleanConfig = ValueField<boolean> & { type: 'boolean'; index?: boolean };

/** `date` as `2026-11-22`, `datetime` in ISO 8601 with a zone, `time` as `09:30`. */
export type DateConfig = ValueField<string> & IndexOptions & { type: 'date' | 'datetime' | 'time' };

/** One of the given options. */
export type SelectConfig = ValueField<string> &
  IndexOptions & { type: 'select' | 'radio'; options: readonly OptionConfig[] };

/** A list of the given options, each at most once. */
export type MultiSelectConfig = ValueField<readonly string[]> &
  LengthOptions & { type: 'multiSelect'; options: readonly OptionConfig[] };

/** The id of a document, or with `hasMany` a list of ids. `upload` points to an upload collection. */
export type RelationshipConfig = ValueField<string | readonly string[]> &
  IndexOptions &
  LengthOptions & {
    type: 'relationship' | 'upload';
    /** The slug of the collection to which the field points. */
    relationTo: string;
    /** Makes the value a list of ids. */
    hasMany?: boolean;
  };

/** Any JSON value. `richText` is the JSON of a rich text editor. */
export type JsonConfig =
  | (ValueField<ConstantJson> & { type: 'json' })
  | (ValueField<ConstantJson> & { type: 'richText'; richText?: RichTextConfig });

/** An object with fields of its own. */
export type ObjectConfig = ValueField<{ readonly [key: string]: ConstantJson }> & {
  type: 'object';
  fields: readonly FieldConfig[];
};

/** A list of objects with the same fields. */
export type ArrayConfig = ValueField<readonly ConstantJson[]> &
  LengthOptions & { type: 'array'; fields: readonly FieldConfig[] };

/** A type of block. Each block of a list names its type, the `slug`, in `blockType`. */
export type BlockConfig = { slug: string; label?: string; fields: readonly FieldConfig[] };

/** A list of blocks: objects of several types. */
export type BlocksConfig = ValueField<readonly ConstantJson[]> &
  LengthOptions & { type: 'blocks'; blocks: readonly BlockConfig[] };

/** A read-only list of the documents of `collection` whose field `on` points to this document. */
export type JoinConfig = FieldBase & {
  type: 'join';
  /** The slug of the collection whose documents are listed. */
  collection: string;
  /** The relationship in `collection` that points to this collection. */
  on: string;
  /** The maximum number of documents in the list, the first in the order of `sort`; default: all. */
  limit?: number;
  /**
   * Fields of `collection`, separated by commas, with `-` in front for descending order; default: the order of
   * creation.
   */
  sort?: string;
};

/** Arranges its fields side by side in a form. The row has no value: its fields belong to the level of the row. */
export type RowConfig = { type: 'row'; label?: string; fields: readonly FieldConfig[]; admin?: AdminConfig };

/** A field. Its `type` decides which options it takes. */
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
