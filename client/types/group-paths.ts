import type { Further, PartOf, PointersOf } from './parts.ts';

/**
 * The paths by whose values the documents of a collection can be grouped: their own, and paths through one
 * relationship. Of longer paths only the relationships are checked, as in filters.
 */
export type GroupPaths<All, Slug> =
  | OwnPaths<All, Slug>
  | Through<All, PointersOf<All, Slug>>
  | Further<All, PointersOf<All, Slug>, 'relations' | 'lists'>;

type Through<All, Pointers> = {
  [Path in keyof Pointers & string]: `${Path}.${OwnPaths<All, Pointers[Path]>}`;
}[keyof Pointers & string];

type OwnPaths<All, Slug> =
  | ComparedPaths<PartOf<All, Slug, 'filters'>>
  | `${PartOf<All, Slug, 'days'> & string}.${'year' | 'month' | 'day'}`;

/** All paths but those to objects and JSON, which have no value to group by. */
type ComparedPaths<Filters> = {
  [Path in keyof Filters & string]: 'in' extends keyof Filters[Path] ? Path : never;
}[keyof Filters & string];
