import type { AnyConfig, GroupPathOf } from './config.ts';

/** The paths of each figure of groups, from the lists of paths in a call. */
export type FiguresOf<Sum, Min, Max, Avg> = {
  sum: ItemOf<Sum>;
  min: ItemOf<Min>;
  max: ItemOf<Max>;
  avg: ItemOf<Avg>;
};

/** The texts in a list. */
export type ItemOf<List> = List extends readonly (infer Item extends string)[] ? Item : never;

/**
 * An order of groups: a term, or several, which name `count`, the figures of the call and its paths of `groupBy`. If
 * the types of the collection are not known, any text.
 */
export type GroupOrder<C extends AnyConfig, Slug extends string, By, Figures> =
  string extends GroupPathOf<C, Slug> ? string | readonly string[] : Term<By, Figures> | readonly Term<By, Figures>[];

type Term<By, Figures> = `${'' | '-'}${'count' | (By & string) | FigureName<Figures>}`;
type FigureName<Figures> = {
  [Kind in keyof Figures & string]: `${Kind}.${Figures[Kind] & string}`;
}[keyof Figures & string];
