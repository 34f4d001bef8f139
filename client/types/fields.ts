import type { RowConfig } from '../../config/define.ts';
import type { fileSchemas } from '../../config/uploads.ts';

/** The same type as a single object type. `& {}` makes editors show the members instead of the expression. */
export type Flat<T> = { [Key in keyof T]: T[Key] } & {};

/** The members that every field has. Both are `string` if the literal types of the field were lost. */
export type AnyField = { readonly name: string; readonly type: string };

/** The fields of an owner. The fields of a row are on the level of the row. */
export type FieldsIn<Owner> = Owner extends { readonly fields: readonly (infer F)[] } ? FieldsOfRows<F> : never;
// A row whose literal type was lost may contain rows again, without end.
type FieldsOfRows<F> = F extends { readonly type: 'row' }
  ? RowConfig extends F
    ? AnyField
    : FieldsIn<F>
  : F extends AnyField
    ? F
    : never;

/** The fields that the service adds to a collection, before the declared ones. */
export type AddedFields<K> =
  | (IsOn<K, 'auth'> extends true ? AccountEmail : never)
  | (IsOn<K, 'upload'> extends true ? FileField : never);
type AccountEmail = {
  readonly name: 'email';
  readonly type: 'email';
  readonly required: true;
  readonly unique: true;
};
/** The members that say how a document is published, where there are drafts. */
export type LineField<K> =
  IsOn<K, 'drafts'> extends true
    ?
        | { readonly name: '__status'; readonly type: 'select'; readonly options: readonly Status[] }
        | { readonly name: '__publishedAt'; readonly type: 'datetime' }
        | { readonly name: '__review'; readonly type: 'select'; readonly options: readonly ReviewState[] }
        | { readonly name: '__editors'; readonly type: 'text'; readonly hasMany: true }
    : never;
type Status = 'published' | 'changed' | 'draft';
type ReviewState = 'open' | 'refused';
/** The same members in an answer: they are there with `draft`, or if they are selected. */
export type LineMembers<K> =
  IsOn<K, 'drafts'> extends true
    ? { __status?: Status; __publishedAt?: string | null; __review?: ReviewState | null; __editors?: string[] }
    : unknown;
/** A field that describes the file of an upload collection. */
export type FileField = (typeof fileSchemas)[number];

/** Whether `auth`, `upload` or `drafts` is switched on, by `true` or by options. */
export type IsOn<K, Option extends 'auth' | 'upload' | 'drafts'> =
  K extends Readonly<Record<Option, infer Value>> ? (Value extends true | object ? true : false) : false;

/**
 * True for a field with a default. An object without its own default gets one from its fields, unless a required field
 * has no default.
 */
export type HasDefault<F> = F extends { readonly defaultValue: infer Value }
  ? [Value] extends [null | undefined]
    ? HasDefaultOfParts<F>
    : true
  : HasDefaultOfParts<F>;
type HasDefaultOfParts<F> = F extends { readonly type: 'object' }
  ? true extends (FieldsIn<F> extends infer Part ? (Part extends unknown ? HasDefault<Part> : never) : never)
    ? true extends (FieldsIn<F> extends infer Part ? (Part extends unknown ? IsNeeded<Part> : never) : never)
      ? false
      : true
    : false
  : false;

/** The field types whose values do not depend on options. */
export type Plain = {
  text: string;
  textarea: string;
  email: string;
  url: string;
  number: number;
  boolean: boolean;
  date: string;
  datetime: string;
  time: string;
};

/** The value of a field: a single one, or a list of several. */
export type Several<F, Value> = F extends { readonly type: 'multiSelect' }
  ? Value[]
  : F extends { readonly hasMany: infer Many }
    ? Many extends true
      ? Value[]
      : Value
    : Value;

/** The stored value of an option of a select. */
export type OptionValue<Option> = Option extends string
  ? Option
  : Option extends { readonly value: infer Value extends string }
    ? Value
    : never;

/** True for a field that a create must send: it is required and has no default. */
export type IsNeeded<F> = F extends { readonly required: true } ? (HasDefault<F> extends true ? false : true) : false;

/**
 * For the compiler, `{}` has the members that every object inherits, so the type of an optional member must include the
 * inherited one. Otherwise a field named `constructor` could never be left out.
 */
export type InheritedMember<Name> = Name extends keyof typeof Object.prototype
  ? (typeof Object.prototype)[Name]
  : never;
