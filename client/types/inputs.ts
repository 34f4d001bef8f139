import type { ConstantJson } from '../../config/define-admin.ts';
import type { Stored } from './documents.ts';
import type {
  AddedTo,
  AnyField,
  FieldsIn,
  FileField,
  Flat,
  Inherited,
  IsNeeded,
  IsOn,
  OptionValue,
  Plain,
  Several,
} from './fields.ts';

/** The data of a new document of a collection of a configuration. */
export type Created<K> = Flat<NewMembers<WrittenIn<K>> & Password<K> & Ignored<K>>;

/** The changes of a document: fields that are not given stay, those that are given are replaced whole. */
export type Updated<K> = Flat<
  { [F in WrittenIn<K> as F['name']]?: Input<F> | Inherited<F['name']> } & Password<K> & Ignored<K>
>;

/** The same for a global. */
export type UpdatedGlobal<G> = Flat<
  { [F in FieldsIn<G> as F['name']]?: Input<F> | Inherited<F['name']> } & { [Name in keyof Stored]?: unknown }
>;

type WrittenIn<K> = Exclude<
  (IsOn<K, 'auth'> extends true ? AddedTo<K> : never) | FieldsIn<K>,
  { readonly type: 'join' }
>;

type Password<K> = IsOn<K, 'auth'> extends true ? { password?: string } : unknown;

/** Made by the server and not looked at in a body, so that a document that was read can be sent back. */
type Ignored<K> = {
  [Name in
    | keyof Stored
    | (IsOn<K, 'upload'> extends true ? FileField['name'] : never)
    | Extract<FieldsIn<K>, { readonly type: 'join' }>['name']]?: unknown;
};

type NewMembers<F extends AnyField> = Flat<
  { [One in F as IsNeeded<One> extends true ? One['name'] : never]: Input<One> } & {
    [One in F as IsNeeded<One> extends true ? never : One['name']]?: Input<One> | Inherited<One['name']>;
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
