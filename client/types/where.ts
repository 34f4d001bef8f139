import type { Inherited } from './fields.ts';
import type { AnyFilter } from './paths.ts';
import type { SelectPaths } from './select.ts';

/**
 * How lists of each collection are filtered and sorted, and what is selected. An interface for each: it is looked into
 * when it is asked for.
 */
export type Lists<All> = { readonly [Slug in keyof All]: ListOf<All, Slug> };
interface ListOf<All, Slug> {
  select: SelectPaths<All, Slug>;
  where: Where<Conditions<All, Slug>>;
  sort: Signed<Sorts<All, Slug>>;
}

type Signed<Path> = Path extends string ? `${'' | '-'}${Path}` : never;

/** A condition on paths, or several in `and` and `or`. */
export type Where<Conditions> = Conditions & {
  and?: readonly Where<Conditions>[];
  or?: readonly Where<Conditions>[];
};

/** Any condition, where nothing is known of the fields. */
export type LooseConditions = { [path: string]: AnyFilter | readonly unknown[] };

/**
 * The conditions on the documents of a collection: on its own paths and on those through a relationship. Through more
 * of them only the relationships are looked at, for the paths would be too many.
 */
type Conditions<All, Slug> = {
  [One in
    | Own<PartOf<All, Slug, 'filters'>>
    | Through<All, PointersOf<All, Slug>>
    | {
        path: Further<All, PointersOf<All, Slug>, 'relations' | 'lists'>;
        filter: AnyFilter;
      } as One['path']]?: One['filter'] | Inherited<One['path']>;
};

type Own<Filters> = { [Name in keyof Filters & string]: { path: Name; filter: Filters[Name] } }[keyof Filters & string];

/** The paths that the documents of a collection can be sorted by, which do not lead through lists. */
type Sorts<All, Slug> =
  | (PartOf<All, Slug, 'sorts'> & string)
  | SortsThrough<All, PartOf<All, Slug, 'relations'>>
  | Further<All, PartOf<All, Slug, 'relations'>, 'relations'>;

/** A part of the types of a collection. */
export type PartOf<All, Slug, Name extends string> = Slug extends keyof All
  ? All[Slug] extends Readonly<Record<Name, infer Found>>
    ? Found
    : never
  : never;

type PointersOf<All, Slug> = PartOf<All, Slug, 'relations'> & PartOf<All, Slug, 'lists'>;

/** The paths through one relationship. */
type Through<All, Pointers> = {
  [Path in keyof Pointers & string]: Prefixed<Path, PartOf<All, Pointers[Path], 'filters'>>;
}[keyof Pointers & string];
type Prefixed<Path extends string, Filters> = {
  [Name in keyof Filters & string]: { path: `${Path}.${Name}`; filter: Filters[Name] };
}[keyof Filters & string];

type SortsThrough<All, Pointers> = {
  [Path in keyof Pointers & string]: `${Path}.${PartOf<All, Pointers[Path], 'sorts'> & string}`;
}[keyof Pointers & string];

/** The paths through two relationships and more, as far as they are looked at: the first two. */
type Further<All, Pointers, Name extends 'relations' | 'lists'> = {
  [Path in keyof Pointers & string]: `${Path}.${PointersIn<All, Pointers[Path], Name>}.${string}`;
}[keyof Pointers & string];
type PointersIn<All, Slug, Name extends 'relations' | 'lists'> = Name extends unknown
  ? keyof PartOf<All, Slug, Name> & string
  : never;
