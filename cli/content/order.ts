import type { Collection, Field } from '../../config/model.ts';
import { fieldsInside } from '../../config/nesting.ts';

type Edges = ReadonlyMap<string, readonly string[]>;

/** Puts collections after the collections that they require, and as far as possible after all that they refer to. */
export function inOrder<S extends { collection: Collection }>(sources: readonly S[]): S[] {
  const bySlug = new Map(sources.map((source) => [source.collection.slug, source]));
  const edges = (choose: (field: Field) => boolean): Edges =>
    new Map(
      sources.map(({ collection: { slug, fields } }) => {
        const targets = targetsOf(fields.filter(choose));
        return [slug, [...bySlug.keys()].filter((target) => targets.has(target))];
      }),
    );
  const required = edges(({ required: isRequired }) => isRequired === true);
  const preferred = ordered(
    [...bySlug.keys()],
    edges(() => true),
  );
  return ordered(preferred, required).flatMap((slug) => bySlug.get(slug) ?? []);
}

/** The starts and all that they lead to, each after what it leads to. Circles are cut. */
function ordered(starts: readonly string[], edges: Edges): string[] {
  const found = new Set<string>();
  const open = new Set<string>();
  const visit = (one: string): void => {
    if (open.has(one)) return;
    open.add(one);
    for (const next of edges.get(one) ?? []) visit(next);
    found.add(one);
  };
  for (const start of starts) visit(start);
  return [...found];
}

/** The collections that fields point to, at any depth. */
function targetsOf(fields: readonly Field[]): Set<string> {
  const found = new Set<string>();
  for (const field of fields) {
    if (field.relationTo !== undefined) found.add(field.relationTo);
    for (const slug of targetsOf(fieldsInside(field))) found.add(slug);
  }
  return found;
}
