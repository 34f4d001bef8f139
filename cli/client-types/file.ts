import type { Model } from '../../config/model.ts';
import { type DeclarationContext, declareCollection, declareGlobal } from './declarations.ts';
import { namesOf } from './names.ts';
import { memberName } from './text.ts';

/** How every such file begins. */
export const firstLine = '// Written by `annals types`. To change it, change the configuration and run that again.';

/**
 * The types of a service's API as a TypeScript file that needs nothing else: an interface for each kind of document and
 * body, and `Annals`, which a client is typed by. `client/types/` makes the same of the configuration itself.
 */
export function clientTypes(model: Model): string {
  const { collections, globals } = model;
  const context: DeclarationContext = { names: namesOf(model), collections };
  const entries = (of: Iterable<Parameters<typeof context.names.of.get>[0]>) =>
    [...of].map((one) => `    ${memberName(one.slug)}: ${context.names.of.get(one)}Types;`);
  const lines = [
    firstLine,
    '',
    '/** All types of this service: `createClient<Annals>({ … })`. */',
    'export type Annals = {',
    ...listOf('collections', entries(collections.values())),
    ...listOf('globals', entries(globals.values())),
    '};',
    '',
    ...[...collections.values()].flatMap((collection) => declareCollection(collection, context)),
    ...[...globals.values()].flatMap((global) => declareGlobal(global, context)),
  ];
  return `${lines.join('\n')}\n${fixed}`;
}

function listOf(name: string, entries: readonly string[]): string[] {
  return entries.length === 0 ? [`  ${name}: Record<never, never>;`] : [`  ${name}: {`, ...entries, '  };'];
}

/** The part that is the same for every service. */
const fixed = `/** An id; or, asked for with a depth, the document. One that is gone or may not be read stays its id. */
export type Related<Item, Depth extends number> = Depth extends 0 ? string : string | Item;

/** The depth that is left on the next level. More than 10 is 10. */
export type Below<Depth extends number> = number extends Depth ? number : [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, ...9[]][Depth];

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A JSON value to be sent. */
export type JsonInput = null | boolean | number | string | readonly JsonInput[] | { readonly [key: string]: JsonInput };

/** The operators of a field with a single value. */
export interface ValueFilter<Value> {
  equals?: Value | null;
  not_equals?: Value | null;
  in?: readonly (Value | null)[];
  not_in?: readonly (Value | null)[];
  exists?: boolean;
}

/** Those of texts, options and ids. \`like\` finds a part of it, without regard to case. */
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
export interface ListFilter<Value> {
  contains?: Value;
  in?: readonly (Value | null)[];
  not_in?: readonly (Value | null)[];
  exists?: boolean;
}

/** The operator of values that cannot be compared: objects, lists of them, JSON. */
export interface PresenceFilter {
  exists?: boolean;
}
`;
