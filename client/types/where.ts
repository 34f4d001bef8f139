import type { InheritedMember } from './fields.ts';
import type { AnyFilter } from './paths.ts';
import type { SelectPaths } from './select.ts';

/**
 * For each collection, the types of `select`, `where` and `sort`. They are an interface, so that the compiler evaluates
 * only the members that are used.
 */
export type Lists<All> = { readonly [Slug in keyof All]: ListOf<All, Slug> };
interface ListOf<All, Slug> {
  select: SelectPaths<All, Slug>;
  where: Where<Conditions<All, Slug>>;
  sort: SortKey<Sorts<All, Slug>>;
}

type SortKey<Path> = Path extends string ? `${'' | '-'}${Path}` : never;

/** Conditions on paths, which `and` and `or` can combine. */
export type Where<Conditions> = Conditions & {
  and?: readonly Where<Conditions>[];
  or?: readonly Where<Conditions>[];
};

/** Any condition, for a collection whose fields are not known. */
export type LooseConditions = { [path: string]: AnyFilter | readonly unknown[] };

/**
 * The conditions on the documents of a collection: on their own paths, and on paths through one relationship. Of longer
 * paths only the relationships are checked, because there would be too many paths.
 */
type Conditions<All, Slug> = {
  [One in
    | Own<PartOf<All, Slug, 'filters'>>
    | Through<All, PointersOf<All, Slug>>
    | {
        path: Further<All, PointersOf<All, Slug>, 'relations' | 'lists'>;
        filter: AnyFilter;
      } as One['path']]?: One['filter'] | InheritedMember<One['path']>;
};

type Own<Filters> = { [Name in keyof Filters & string]: { path: Name; filter: Filters[Name] } }[keyof Filters & string];

/** The paths by which the documents of a collection can be sorted. They do not lead through lists. */
type Sorts<All, Slug> =
  | (PartOf<All, Slug, 'sorts'> & string)
  | SortsThrough<All, PartOf<All, Slug, 'relations'>>
  | Further<All, PartOf<All, Slug, 'relations'>, 'relations'>;

/** A member of the types of a collection. */
export type PartOf<All, Slug, Name extends string> = Slug extends keyof All
  ? All[Slug] extends Readonly<Record<Name, infer Found>>
    ? Found
    : never
  : never;

type PointersOf<All, Slug> = PartOf<All, Slug, 'relations'> & PartOf<All, Slug, 'lists'>;

/** The paths through one relationship. */
type Through<All, Pointers> = {
  [Path in keyof Pointers & string]: PrefixedPaths<Path, PartOf<All, Pointers[Path], 'filters'>>;
}[keyof Pointers & string];
type PrefixedPaths<Path extends string, Filters> = {
  [Name in keyof Filters & string]: { path: `${Path}.${Name}`; filter: Filters[Name] };
}[keyof Filters & string];

type SortsThrough<All, Pointers> = {
  [Path in keyof Pointers & string]: `${Path}.${PartOf<All, Pointers[Path], 'sorts'> & string}`;
}[keyof Pointers & string];

/** The paths through two relationships or more. Only the first two are checked. */
type Further<All, Pointers, Name extends 'relations' | 'lists'> = {
  [Path in keyof Pointers & string]: `${Path}.${PointersIn<All, Pointers[Path], Name>}.${string}`;
}[keyof Pointers & string];
type PointersIn<All, Slug, Name extends 'relations' | 'lists'> = Name extends unknown
  ? keyof PartOf<All, Slug, Name> & string
  : never;
