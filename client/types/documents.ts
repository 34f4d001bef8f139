import type { Json } from '../../config/schema.ts';
import type { AddedTo, AnyField, FieldsIn, Flat, HasDefault, OptionValue, Plain, Several } from './fields.ts';

/** The members of every document. */
export type Stored = { id: string; createdAt: string; updatedAt: string };
/** The members of every global, null as long as it was never written. */
export type StoredGlobal = { createdAt: string | null; updatedAt: string | null };

/** The depth that is left in the documents of the next level. More than 10 is 10. */
export type Below<Depth extends number> = number extends Depth ? number : [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, ...9[]][Depth];

/**
 * A document of a collection of a configuration, as it is answered. In related documents, joins stay ids: their depth
 * is 0.
 */
export type Answered<Bases, K, Depth extends number, JoinDepth extends number = Depth> = Flat<
  Stored &
    Members<Bases, AddedTo<K> | Exclude<FieldsIn<K>, Join>, Depth> &
    Members<Bases, Extract<FieldsIn<K>, Join>, JoinDepth>
>;

type Join = { readonly type: 'join' };

/** A global as it is answered: before it is written, what is required has no value but its default. */
export type AnsweredGlobal<Bases, G, Depth extends number> = Flat<
  StoredGlobal & {
    [F in FieldsIn<G> as IsHidden<F> extends true ? never : F['name']]: Answer<Bases, F, Depth> | Unwritten<F>;
  } & { [F in FieldsIn<G> as IsHidden<F> extends true ? F['name'] : never]?: Answer<Bases, F, Depth> | Unwritten<F> }
>;
type Unwritten<F> = F extends { readonly type: ListType } | { readonly hasMany: true }
  ? never
  : HasDefault<F> extends true
    ? never
    : null;

/** Fields as they are answered; one that is not for every reader may be missing. */
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

// Conditions rather than unions where they can be: editors show what a condition comes to.
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
            ? Several<F, Related<Bases, To, Depth>>
            : F extends { readonly type: 'join'; readonly collection: infer From }
              ? Related<Bases, From, Depth>[]
              : F extends { readonly type: 'object' }
                ? Members<Bases, FieldsIn<F>, Depth>
                : F extends { readonly type: 'array' }
                  ? Members<Bases, FieldsIn<F>, Depth>[]
                  : F extends { readonly blocks: readonly (infer Block)[] }
                    ? BlockOf<Bases, Block, Depth>[]
                    : unknown
  : never;

/** An id, or with depth the document; one that is gone, not readable or around this one stays its id. */
type Related<Bases, To, Depth extends number> = Depth extends 0
  ? string
  : string | (To extends keyof Bases ? Answered<Bases, Bases[To], Below<Depth>, 0> : Stored);

type BlockOf<Bases, Block, Depth extends number> = Block extends { readonly slug: infer Slug }
  ? Flat<{ blockType: Slug } & Members<Bases, FieldsIn<Block>, Depth>>
  : never;
