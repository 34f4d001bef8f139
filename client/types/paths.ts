import type { AddedFields, AnyField, FieldsIn, LineField, OptionValue } from './fields.ts';

/** The operators of every field with a single value. */
export interface ValueFilter<Value> {
  equals?: Value | null;
  not_equals?: Value | null;
  in?: readonly (Value | null)[];
  not_in?: readonly (Value | null)[];
  exists?: boolean;
}

/** The operators of texts, options and relationships. `like` finds a part of the text, ignoring case. */
export interface TextFilter<Value extends string = string> extends ValueFilter<Value> {
  like?: string;
}

/** The operators of numbers, dates and times. */
export interface OrderFilter<Value> extends ValueFilter<Value> {
  greater_than?: Value;
  less_than?: Value;
  greater_than_equal?: Value;
  less_than_equal?: Value;
}

/** The operators of the id of a document. Later documents have greater ids. */
export interface IdFilter extends TextFilter, OrderFilter<string> {}

/** The operators of lists of options or ids. */
export interface ListFilter<Value> extends Pick<ValueFilter<Value>, 'in' | 'not_in' | 'exists'> {
  contains?: Value;
}

/** The operator of values that cannot be compared: objects, lists of objects, JSON. */
export type PresenceFilter = Pick<ValueFilter<unknown>, 'exists'>;

/** Every operator, for a field whose type is not known. */
export type AnyFilter = { [operator in keyof (OrderFilter<unknown> & TextFilter & ListFilter<unknown>)]?: unknown };

/**
 * A path of a collection: the field at its end, its filter, whether it can be sorted by, the collection to which it
 * points, and whether it leads through a list.
 */
type Entry = { path: string; field: unknown; filter: unknown; sorts: boolean; to: string | null; isList: boolean };

/** Every path inside the documents of a collection, derived from a configuration. */
export type EntriesOf<K> = EntriesIn<ServerField | LineField<K> | AddedFields<K> | FieldsIn<K>, '', false>;

type ServerField =
  | { readonly name: 'id'; readonly type: 'id' }
  | { readonly name: 'createdAt' | 'updatedAt'; readonly type: 'datetime' };

/** The filters of all paths. */
export type FiltersOf<Entries extends Entry> = { [One in Entries as One['path']]: One['filter'] };
/** The paths by which a list can be sorted. */
export type SortsOf<Entries extends Entry> = Extract<Entries, { sorts: true }>['path'];
/** The paths to a single value of a field of some types. */
export type SinglesOf<Entries extends Entry, Type extends string> = Extract<
  Entries,
  { sorts: true; field: { readonly type: Type } }
>['path'];
/** The paths to dates, with or without times: single ones, and those in lists. */
export type DaysOf<Entries extends Entry> = Extract<Entries, { field: { readonly type: 'date' | 'datetime' } }>['path'];
/** The paths of unique fields. */
export type UniqueOf<Entries extends Entry> = Extract<Entries, { field: { readonly unique: true } }>['path'];
/** The collections to which relationships point, by path: of relationships to one document, or to several. */
export type RelationsOf<Entries extends Entry, IsList extends boolean> = {
  [One in Extract<Entries, { to: string; isList: IsList }> as One['path']]: One['to'];
};

type EntriesIn<F, Before extends string, InList extends boolean> = F extends AnyField
  ? F extends { readonly type: 'join' }
    ? never
    : string extends F['name']
      ? // A field of which nothing is known may be of any type: `never` extends them all.
        { path: string; field: never; filter: AnyFilter; sorts: true; to: null; isList: false }
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

/** If several blocks have a field with the same name, the first field determines the type of the path. */
type EntriesInBlocks<
  Blocks extends readonly unknown[],
  Before extends string,
  Seen extends Entry = never,
> = Blocks extends readonly [infer First, ...infer Rest]
  ? EntriesInBlocks<Rest, Before, Seen | NewEntries<EntriesIn<FieldsIn<First>, Before, true>, Seen['path']>>
  : Seen;
type NewEntries<One extends Entry, Paths extends string> = One extends unknown
  ? One['path'] extends Paths
    ? never
    : One
  : never;

type EntryOf<F extends AnyField, Path extends string, InList extends boolean> = F extends
  | { readonly hasMany: true }
  | { readonly type: 'multiSelect' }
  ? { path: Path; field: F; filter: ListFilter<ItemOf<F>>; sorts: false; to: TargetOf<F>; isList: true }
  : F extends { readonly type: keyof Filters }
    ? {
        path: Path;
        field: F;
        filter: Filters[F['type']];
        sorts: InList extends true ? false : true;
        to: null;
        isList: InList;
      }
    : F extends { readonly options: unknown } | { readonly relationTo: unknown }
      ? {
          path: Path;
          field: F;
          filter: TextFilter<ItemOf<F>>;
          sorts: InList extends true ? false : true;
          to: TargetOf<F>;
          isList: InList;
        }
      : { path: Path; field: F; filter: PresenceFilter; sorts: false; to: null; isList: InList };

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
