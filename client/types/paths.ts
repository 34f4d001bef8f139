import type { AddedTo, AnyField, FieldsIn, OptionValue } from './fields.ts';

/** The operators of every field with a single value. */
export interface ValueFilter<Value> {
  equals?: Value | null;
  not_equals?: Value | null;
  in?: readonly (Value | null)[];
  not_in?: readonly (Value | null)[];
  exists?: boolean;
}

/** Those of texts, options and relationships; `like` is a part of it, without regard to case. */
export interface TextFilter<Value extends string = string> extends ValueFilter<Value> {
  like?: string;
}

/** Those of numbers, dates and times. */
export interface OrderFilter<Value> extends ValueFilter<Value> {
  greater_than?: Value;
  less_than?: Value;
  greater_than_equal?: Value;
  less_than_equal?: Value;
}

/** Those of the id of a document, which is greater the later it was made. */
export interface IdFilter extends TextFilter, OrderFilter<string> {}

/** Those of lists of options or ids. */
export interface ListFilter<Value> extends Pick<ValueFilter<Value>, 'in' | 'not_in' | 'exists'> {
  contains?: Value;
}

/** The operator of values that cannot be compared: objects, lists of objects, JSON. */
export type PresenceFilter = Pick<ValueFilter<unknown>, 'exists'>;

/** Every operator, where nothing is known of the field. */
export type AnyFilter = { [operator in keyof (OrderFilter<unknown> & TextFilter & ListFilter<unknown>)]?: unknown };

/** The end of a path of a collection: its filter, the collection it points at, and whether it goes through a list. */
type Entry = { path: string; filter: unknown; sorts: boolean; to: string | null; isList: boolean };

/** Every path of a collection of a configuration that stays inside its documents. */
export type EntriesOf<K> = EntriesIn<ServerField | AddedTo<K> | FieldsIn<K>, '', false>;

type ServerField =
  | { readonly name: 'id'; readonly type: 'id' }
  | { readonly name: 'createdAt' | 'updatedAt'; readonly type: 'datetime' };

/** The filters of all paths. */
export type FiltersOf<Entries extends Entry> = { [One in Entries as One['path']]: One['filter'] };
/** The paths that a list can be sorted by. */
export type SortsOf<Entries extends Entry> = Extract<Entries, { sorts: true }>['path'];
/** Where relationships lead, by their paths: those with one document, or those with several. */
export type RelationsOf<Entries extends Entry, IsList extends boolean> = {
  [One in Extract<Entries, { to: string; isList: IsList }> as One['path']]: One['to'];
};

type EntriesIn<F, Before extends string, InList extends boolean> = F extends AnyField
  ? F extends { readonly type: 'join' }
    ? never
    : string extends F['name']
      ? { path: string; filter: AnyFilter; sorts: true; to: null; isList: false }
      : EntryOf<F, `${Before}${F['name']}`, InList> | EntriesInside<F, `${Before}${F['name']}.`, InList>
  : never;

type EntriesInside<F extends AnyField, Before extends string, InList extends boolean> = F extends {
  readonly type: 'object';
}
  ? EntriesIn<FieldsIn<F>, Before, InList>
  : F extends { readonly type: 'array' }
    ? EntriesIn<FieldsIn<F>, Before, true>
    : F extends { readonly blocks: infer Blocks extends readonly unknown[] }
      ? EntriesIn<BlockType<Blocks[number]>, Before, true> | EntriesInBlocks<Blocks, Before>
      : never;

type BlockType<Block> = {
  readonly name: 'blockType';
  readonly type: 'select';
  readonly options: readonly SlugOf<Block>[];
};
type SlugOf<Block> = Block extends { readonly slug: infer Slug } ? Slug : never;

/** Blocks may have fields of one name: the first of them says what a path leads to. */
type EntriesInBlocks<
  Blocks extends readonly unknown[],
  Before extends string,
  Seen extends Entry = never,
> = Blocks extends readonly [infer First, ...infer Rest]
  ? EntriesInBlocks<Rest, Before, Seen | Unseen<EntriesIn<FieldsIn<First>, Before, true>, Seen['path']>>
  : Seen;
type Unseen<One extends Entry, Paths extends string> = One extends unknown
  ? One['path'] extends Paths
    ? never
    : One
  : never;

type EntryOf<F extends AnyField, Path extends string, InList extends boolean> = F extends
  | { readonly hasMany: true }
  | { readonly type: 'multiSelect' }
  ? { path: Path; filter: ListFilter<ItemOf<F>>; sorts: false; to: TargetOf<F>; isList: true }
  : F extends { readonly type: keyof Filters }
    ? { path: Path; filter: Filters[F['type']]; sorts: InList extends true ? false : true; to: null; isList: InList }
    : F extends { readonly options: unknown } | { readonly relationTo: unknown }
      ? {
          path: Path;
          filter: TextFilter<ItemOf<F>>;
          sorts: InList extends true ? false : true;
          to: TargetOf<F>;
          isList: InList;
        }
      : { path: Path; filter: PresenceFilter; sorts: false; to: null; isList: InList };

type ItemOf<F> = F extends { readonly options: readonly (infer Option)[] } ? OptionValue<Option> : string;
type TargetOf<F> = F extends { readonly relationTo: infer To extends string } ? To : null;

type Filters = {
  id: IdFilter;
  text: TextFilter;
  textarea: TextFilter;
  email: TextFilter;
  url: TextFilter;
  number: OrderFilter<number>;
  boolean: ValueFilter<boolean>;
  date: OrderFilter<string>;
  datetime: OrderFilter<string>;
  time: OrderFilter<string>;
};
