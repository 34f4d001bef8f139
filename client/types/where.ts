import type { InheritedMember } from './fields.ts';
import type { GroupPaths } from './group-paths.ts';
import type { Further, PartOf, PointersOf } from './parts.ts';
import type { AnyFilter } from './paths.ts';
import type { SelectPaths } from './select.ts';

/**
 * For each collection, the types of `select`, `where` and `sort`, and of the paths that `aggregate` groups by, adds up
 * and compares. They are an interface, so that the compiler evaluates only the members that are used.
 */
export type Lists<All> = { readonly [Slug in keyof All]: ListOf<All, Slug> };
interface ListOf<All, Slug> {
  select: SelectPaths<All, Slug>;
  where: Where<Conditions<All, Slug>>;
  sort: SortKey<SinglePaths<All, Slug, 'sorts'>>;
  group: GroupPaths<All, Slug>;
  sum: SinglePaths<All, Slug, 'numbers'>;
  min: SinglePaths<All, Slug, 'numbers' | 'times'>;
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

/** The paths to single values, by which documents can be sorted, or only those to numbers or times. */
type SinglePaths<All, Slug, Name extends 'sorts' | 'numbers' | 'times'> =
  | (PartOf<All, Slug, Name> & string)
  | SinglePathsThrough<All, PartOf<All, Slug, 'relations'>, Name>
  | Further<All, PartOf<All, Slug, 'relations'>, 'relations'>;

/** The paths through one relationship. */
type Through<All, Pointers> = {
  [Path in keyof Pointers & string]: PrefixedPaths<Path, PartOf<All, Pointers[Path], 'filters'>>;
}[keyof Pointers & string];
type PrefixedPaths<Path extends string, Filters> = {
  [Name in keyof Filters & string]: { path: `${Path}.${Name}`; filter: Filters[Name] };
}[keyof Filters & string];

type SinglePathsThrough<All, Pointers, Name extends string> = {
  [Path in keyof Pointers & string]: `${Path}.${PartOf<All, Pointers[Path], Name> & string}`;
}[keyof Pointers & string];
