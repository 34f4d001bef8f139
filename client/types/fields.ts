import type { RowConfig } from '../../config/define.ts';
import type { fileSchemas } from '../../config/uploads.ts';

/** The same type with its parts put together; `& {}` has editors show the members, and not how they came about. */
export type Flat<T> = { [Key in keyof T]: T[Key] } & {};

/** The members of a field in any configuration; one that was not kept literally has `string` for both. */
export type AnyField = { readonly name: string; readonly type: string };

/** The fields of something that has fields; those of a row stand where the row does. */
export type FieldsIn<Owner> = Owner extends { readonly fields: readonly (infer F)[] } ? Lifted<F> : never;
// A row of which nothing is known may hold rows again, without end.
type Lifted<F> = F extends { readonly type: 'row' }
  ? RowConfig extends F
    ? AnyField
    : FieldsIn<F>
  : F extends AnyField
    ? F
    : never;

/** Fields that the service adds to a collection, before those of its author. */
export type AddedTo<K> =
  | (IsOn<K, 'auth'> extends true ? { readonly name: 'email'; readonly type: 'email'; readonly required: true } : never)
  | (IsOn<K, 'upload'> extends true ? FileField : never);
/** A field that an upload collection gets for its file. */
export type FileField = (typeof fileSchemas)[number];

/** Whether `auth` or `upload` is switched on: `true`, or options. */
export type IsOn<K, Option extends 'auth' | 'upload'> =
  K extends Readonly<Record<Option, infer Value>> ? (Value extends true | object ? true : false) : false;

/** A default of its own; or an object's, made of those of its fields when none of them is missing. */
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

/** The types whose values are the same whatever the options of the field. */
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

/** One value of a field, or the list of them that it holds. */
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

/** True for a field that a create must give: it is required and has no default. */
export type IsNeeded<F> = F extends { readonly required: true } ? (HasDefault<F> extends true ? false : true) : false;

/**
 * To the compiler `{}` has what every object inherits, so a member that may be left out has to allow for that:
 * otherwise a field named `constructor` would always have to be given.
 */
export type Inherited<Name> = Name extends keyof typeof Object.prototype ? (typeof Object.prototype)[Name] : never;
