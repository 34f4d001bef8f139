import type { DocumentIn } from './config.ts';
import type { Below } from './documents.ts';
import type { Flat } from './fields.ts';
import type { PartOf } from './parts.ts';

/**
 * The paths that `select` can name in the documents of a collection: their own, and paths through one relationship or
 * join. Of longer paths only the relations are checked, because there would be too many paths.
 */
export type SelectPaths<All, Slug> =
  | OwnPaths<All, Slug>
  | { [Path in keyof Pointers<All, Slug> & string]: Through<All, Path, Pointers<All, Slug>[Path]> }[keyof Pointers<
      All,
      Slug
    > &
      string];

type Through<All, Path extends string, To> =
  | `${Path}.${OwnPaths<All, To>}`
  | `${Path}.${keyof Pointers<All, To> & string}.${string}`;

type OwnPaths<All, Slug> = (keyof PartOf<All, Slug, 'filters'> | keyof Joins<All, Slug>) & string;

/** The collections to which relationships and joins lead, by path. */
type Pointers<All, Slug> = PartOf<All, Slug, 'relations'> & PartOf<All, Slug, 'lists'> & Joins<All, Slug>;

/** Files of an older `annals types` have no `joins`. */
type Joins<All, Slug> = [PartOf<All, Slug, 'joins'>] extends [never] ? unknown : PartOf<All, Slug, 'joins'>;

/** A document with its id and only the selected members. */
export type SelectedDocument<All, Slug, Paths extends string, Depth extends number> = Flat<
  { id: string } & SelectedMembers<
    { all: All; slug: Slug; depth: Depth; before: '' },
    DocumentIn<All, Slug, Depth>,
    Paths
  >
>;

/** The place of members: behind a path in the documents of a collection. */
type Spot = { all: unknown; slug: unknown; depth: number; before: string };

/** The selected members of a document or object. Optional members stay optional. */
type SelectedMembers<At extends Spot, Values, Paths extends string> = {
  [Name in keyof Values as Name extends Head<Paths> ? Name : never]: Name extends string
    ? Value<At, `${At['before']}${Name}`, Values[Name], Tail<Paths, Name>>
    : never;
};

type Head<Path extends string> = Path extends `${infer Name}.${string}` ? Name : Path;
/** The rest of each path after a name; the empty text selects the whole value. */
type Tail<Path extends string, Name extends string> = Path extends Name
  ? ''
  : Path extends `${Name}.${infer Rest}`
    ? Rest
    : never;

type Value<At extends Spot, Path extends string, Found, Paths extends string> =
  | ('' extends Paths ? Found : never)
  | ([Exclude<Paths, ''>] extends [never] ? never : Behind<At, Path, Found, Exclude<Paths, ''>>);

type Behind<At extends Spot, Path extends string, Found, Paths extends string> = Path extends keyof Pointers<
  At['all'],
  At['slug']
>
  ? RelatedDocument<
      Found,
      SelectedDocument<At['all'], Pointers<At['all'], At['slug']>[Path], Paths, Below<At['depth']>>
    >
  : Inside<{ all: At['all']; slug: At['slug']; depth: At['depth']; before: `${Path}.` }, Found, Paths>;

/** An id, or the document. A document that is deleted, not readable or already an ancestor stays an id. */
type RelatedDocument<Found, Document> = [Extract<Found, readonly unknown[]>] extends [never]
  ? string | Document | Extract<Found, null>
  : (string | Document)[];

type Inside<At extends Spot, Found, Paths extends string> = Found extends readonly (infer Item)[]
  ? Inside<At, Item, Paths>[]
  : Found extends { blockType: infer Type }
    ? Flat<{ blockType: Type } & SelectedMembers<At, Omit<Found, 'blockType'>, Paths>>
    : Found extends object
      ? Flat<SelectedMembers<At, Found, Paths>>
      : Found;
