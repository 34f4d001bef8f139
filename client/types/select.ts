import type { DocumentIn } from './config.ts';
import type { Below } from './documents.ts';
import type { Flat } from './fields.ts';
import type { PartOf } from './where.ts';

/**
 * The paths that can be selected of the documents of a collection: their own and those through a relationship or join.
 * Through more of them only the relations are looked at, for the paths would be too many.
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

/** The collections that stand behind the paths of relationships and joins. */
type Pointers<All, Slug> = PartOf<All, Slug, 'relations'> & PartOf<All, Slug, 'lists'> & Joins<All, Slug>;

/** Files that an older `annals types` wrote have none. */
type Joins<All, Slug> = [PartOf<All, Slug, 'joins'>] extends [never] ? unknown : PartOf<All, Slug, 'joins'>;

/** A document with the selected members only, and its id. */
export type Selected<All, Slug, Paths extends string, Depth extends number> = Flat<
  { id: string } & Kept<{ all: All; slug: Slug; depth: Depth; before: '' }, DocumentIn<All, Slug, Depth>, Paths>
>;

/** Where members stand: in the documents of a collection, behind a path. */
type Spot = { all: unknown; slug: unknown; depth: number; before: string };

/** The selected members of a document or object; those that may be missing still may. */
type Kept<At extends Spot, Values, Paths extends string> = {
  [Name in keyof Values as Name extends Head<Paths> ? Name : never]: Name extends string
    ? Value<At, `${At['before']}${Name}`, Values[Name], Tail<Paths, Name>>
    : never;
};

type Head<Path extends string> = Path extends `${infer Name}.${string}` ? Name : Path;
/** The rest of the paths behind a name; the empty text is all of it. */
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
  ? Related<Found, Selected<At['all'], Pointers<At['all'], At['slug']>[Path], Paths, Below<At['depth']>>>
  : Inside<{ all: At['all']; slug: At['slug']; depth: At['depth']; before: `${Path}.` }, Found, Paths>;

/** An id, or the document; one that is gone, not readable or around this one stays its id. */
type Related<Found, Document> = [Extract<Found, readonly unknown[]>] extends [never]
  ? string | Document | Extract<Found, null>
  : (string | Document)[];

type Inside<At extends Spot, Found, Paths extends string> = Found extends readonly (infer Item)[]
  ? Inside<At, Item, Paths>[]
  : Found extends { blockType: infer Type }
    ? Flat<{ blockType: Type } & Kept<At, Omit<Found, 'blockType'>, Paths>>
    : Found extends object
      ? Flat<Kept<At, Found, Paths>>
      : Found;
