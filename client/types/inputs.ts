import type { ConstantJson } from '../../config/define-admin.ts';
import type { DocumentMembers } from './documents.ts';
import type {
  AddedFields,
  AnyField,
  FieldsIn,
  FileField,
  Flat,
  InheritedMember,
  IsNeeded,
  IsOn,
  OptionValue,
  Plain,
  Several,
} from './fields.ts';

/** The data of a new document, derived from a collection of a configuration. */
export type CreateData<K> = Flat<NewMembers<WritableFields<K>> & Password<K> & IgnoredMembers<K>>;

/** The changes to a document: given fields replace the whole old value, other fields stay. */
export type UpdateData<K> = Flat<
  { [F in WritableFields<K> as F['name']]?: Input<F> | InheritedMember<F['name']> } & Password<K> & IgnoredMembers<K>
>;

/** The changes to a global. */
export type GlobalUpdateData<G> = Flat<
  { [F in FieldsIn<G> as F['name']]?: Input<F> | InheritedMember<F['name']> } & {
    [Name in keyof DocumentMembers]?: unknown;
  }
>;

type WritableFields<K> = Exclude<
  (IsOn<K, 'auth'> extends true ? AddedFields<K> : never) | FieldsIn<K>,
  { readonly type: 'join' }
>;

type Password<K> = IsOn<K, 'auth'> extends true ? { password?: string } : unknown;

/** Members that the server assigns and ignores in a body, so that a document can be sent back as it was read. */
type IgnoredMembers<K> = {
  [Name in
    | keyof DocumentMembers
    | (IsOn<K, 'upload'> extends true ? FileField['name'] : never)
    | Extract<FieldsIn<K>, { readonly type: 'join' }>['name']]?: unknown;
};

type NewMembers<F extends AnyField> = Flat<
  { [One in F as IsNeeded<One> extends true ? One['name'] : never]: Input<One> } & {
    [One in F as IsNeeded<One> extends true ? never : One['name']]?: Input<One> | InheritedMember<One['name']>;
  }
>;

type Input<F extends AnyField> = F extends { readonly required: true } ? InputValue<F> : InputValue<F> | null;

type InputValue<F> = F extends AnyField
  ? string extends F['name']
    ? unknown
    : F extends { readonly type: 'json' | 'richText' }
      ? Exclude<ConstantJson, null>
      : F extends { readonly type: keyof Plain }
        ? Plain[F['type']]
        : F extends { readonly options: readonly (infer Option)[] }
          ? SeveralInput<F, OptionValue<Option>>
          : F extends { readonly relationTo: unknown }
            ? SeveralInput<F, string>
            : F extends { readonly type: 'object' }
              ? NewMembers<FieldsIn<F>>
              : F extends { readonly type: 'array' }
                ? readonly NewMembers<FieldsIn<F>>[]
                : F extends { readonly blocks: readonly (infer Block)[] }
                  ? readonly BlockInput<Block>[]
                  : unknown
  : never;

type SeveralInput<F, Value> =
  Several<F, Value> extends infer Found ? (Found extends readonly unknown[] ? readonly Value[] : Found) : never;

type BlockInput<Block> = Block extends { readonly slug: infer Slug }
  ? Flat<{ blockType: Slug } & NewMembers<FieldsIn<Block>>>
  : never;
