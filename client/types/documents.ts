import type { Json } from '../../config/schema.ts';
import type {
  AddedFields,
  AnyField,
  FieldsIn,
  Flat,
  HasDefault,
  LineMembers,
  OptionValue,
  Plain,
  Several,
} from './fields.ts';

/** The members of every document. */
export type DocumentMembers = { id: string; createdAt: string; updatedAt: string };
/** The members of every global; null until it is first written. */
export type GlobalMembers = { createdAt: string | null; updatedAt: string | null };

/** The remaining depth in related documents. Depths above 10 count as 10. */
export type Below<Depth extends number> = number extends Depth ? number : [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, ...9[]][Depth];

/**
 * A document of an answer, derived from a collection of a configuration. In related documents, joins stay ids: their
 * depth is 0.
 */
export type DocumentAnswer<Bases, K, Depth extends number, JoinDepth extends number = Depth> = Flat<
  DocumentMembers &
    LineMembers<K> &
    Members<Bases, AddedFields<K> | Exclude<FieldsIn<K>, Join>, Depth> &
    Members<Bases, Extract<FieldsIn<K>, Join>, JoinDepth>
>;

type Join = { readonly type: 'join' };

/** A global of an answer. Until it is first written, a required field without a default is null. */
export type GlobalAnswer<Bases, G, Depth extends number> = Flat<
  GlobalMembers &
    LineMembers<G> & {
      [F in FieldsIn<G> as IsHidden<F> extends true ? never : F['name']]: Answer<Bases, F, Depth> | Unwritten<F>;
    } & { [F in FieldsIn<G> as IsHidden<F> extends true ? F['name'] : never]?: Answer<Bases, F, Depth> | Unwritten<F> }
>;
type Unwritten<F> = F extends { readonly type: ListType } | { readonly hasMany: true }
  ? never
  : HasDefault<F> extends true
    ? never
    : null;

/** The members of an answer, derived from fields. A field with a `read` rule may be missing. */
type Members<Bases, F extends AnyField, Depth extends number> = Flat<
  {
    [One in F as IsHidden<One> extends true ? never : One['name']]: Answer<Bases, One, Depth>;
  } & { [One in F as IsHidden<One> extends true ? One['name'] : never]?: Answer<Bases, One, Depth> }
>;

type IsHidden<F> = F extends { readonly access?: infer Access }
  ? 'read' extends keyof NonNullable<Access>
    ? true
    : false
  : false;

type ListType = 'multiSelect' | 'array' | 'blocks' | 'join';

// Conditional types are preferred to unions, because editors show the result of a conditional type.
type Answer<Bases, F extends AnyField, Depth extends number> = F extends
  | { readonly required: true }
  | { readonly type: ListType }
  | { readonly hasMany: true }
  ? AnswerValue<Bases, F, Depth>
  : AnswerValue<Bases, F, Depth> | null;

type AnswerValue<Bases, F, Depth extends number> = F extends AnyField
  ? string extends F['name']
    ? unknown
    : F extends { readonly type: 'json' | 'richText' }
      ? Exclude<Json, null>
      : F extends { readonly type: keyof Plain }
        ? Plain[F['type']]
        : F extends { readonly options: readonly (infer Option)[] }
          ? Several<F, OptionValue<Option>>
          : F extends { readonly relationTo: infer To }
            ? Several<F, RelatedDocument<Bases, To, Depth>>
            : F extends { readonly type: 'join'; readonly collection: infer From }
              ? RelatedDocument<Bases, From, Depth>[]
              : F extends { readonly type: 'object' }
                ? Members<Bases, FieldsIn<F>, Depth>
                : F extends { readonly type: 'array' }
                  ? Members<Bases, FieldsIn<F>, Depth>[]
                  : F extends { readonly blocks: readonly (infer Block)[] }
                    ? BlockOf<Bases, Block, Depth>[]
                    : unknown
  : never;

/**
 * An id, or the document if there is depth left. A document that is deleted, not readable or already an ancestor stays
 * an id.
 */
type RelatedDocument<Bases, To, Depth extends number> = Depth extends 0
  ? string
  : string | (To extends keyof Bases ? DocumentAnswer<Bases, Bases[To], Below<Depth>, 0> : DocumentMembers);

type BlockOf<Bases, Block, Depth extends number> = Block extends { readonly slug: infer Slug }
  ? Flat<{ blockType: Slug } & Members<Bases, FieldsIn<Block>, Depth>>
  : never;
