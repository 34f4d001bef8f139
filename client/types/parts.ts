/** A member of the types of a collection. */
export type PartOf<All, Slug, Name extends string> = Slug extends keyof All
  ? All[Slug] extends Readonly<Record<Name, infer Found>>
    ? Found
    : never
  : never;

/** The collections to which relationships lead, by path. */
export type PointersOf<All, Slug> = PartOf<All, Slug, 'relations'> & PartOf<All, Slug, 'lists'>;

/** The paths through two relationships or more. Only the first two are checked. */
export type Further<All, Pointers, Name extends 'relations' | 'lists'> = {
  [Path in keyof Pointers & string]: `${Path}.${PointersIn<All, Pointers[Path], Name>}.${string}`;
}[keyof Pointers & string];
type PointersIn<All, Slug, Name extends 'relations' | 'lists'> = Name extends unknown
  ? keyof PartOf<All, Slug, Name> & string
  : never;
