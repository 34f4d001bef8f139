import type { Collection, Model } from '../../config/model.ts';
import { type Category, type CollectionSchema, categoryOf, type Schema } from '../../config/schema.ts';
import { didYouMean, show } from '../../config/suggest.ts';
import type { Epoch } from '../facts/lineage.ts';
import type { LogReader } from '../log/log-reader.ts';

/** A schema as it follows others: each of its collections has its category. */
export type Settled = {
  schema: Schema;
  /** Where it says `renamedFrom`, and there are no documents to take: a line each. */
  problems: string[];
  /** The slugs under which the history of another collection is recorded: a line each. */
  refusals: string[];
};

/** A collection that a log has had, under all its names. */
type Line = {
  category: Category;
  /** As it was last declared. */
  slug: string;
  renamedFrom: string | undefined;
  /** The slugs that it had before. */
  former: ReadonlySet<string>;
};

type Read = Pick<LogReader, 'hasUnder'>;

/**
 * Gives the collections of a schema the categories of those that they go on. A rename is told by `renamedFrom` once,
 * and holds from then on, for the schemas of the log have the categories.
 *
 * @param epochs in the order of their positions.
 */
export function settle(epochs: readonly Epoch[], schema: Schema, log: Read): Settled {
  const lines = linesOf(epochs);
  const followed = schema.collections.map((declared) => ({ declared, ...follow(lines, declared, log) }));
  const now = new Map(followed.map(({ declared, line }) => [line, declared.slug]));
  const problems: string[] = [];
  const refusals: string[] = [];
  for (const { declared, line, problem } of followed) {
    const { slug } = declared;
    if (problem !== null) problems.push(`${slug}.renamedFrom: ${problem}`);
    const other = lines.find((one) => one !== line && isRecordedUnder(one, slug));
    if (other) refusals.push(whyTaken(slug, other, now.get(other)));
  }
  if (refusals.length === 0) refusals.push(...sameNames(followed));
  const collections = followed.map(({ declared, line }) => recordedAs(declared, line?.category));
  return { schema: { ...schema, collections }, problems, refusals };
}

/** The collections that are recorded under one name but for its case. */
function sameNames(followed: readonly { declared: CollectionSchema; line: Line | undefined }[]): string[] {
  const seen = new Map<string, string>();
  return followed.flatMap(({ declared: { slug }, line }) => {
    const name = (line?.category ?? slug).toLowerCase();
    const other = seen.get(name);
    seen.set(name, slug);
    if (other === undefined) return [];
    return [
      `${other} and ${slug} are recorded under names that differ in their case alone, and cannot be there together`,
    ];
  });
}

/** The categories of collections that have others than their slugs, by these; it can be sent to another thread. */
export type Categories = Readonly<Record<string, Category>>;

/** Those of a schema that is settled. */
export function categoriesIn({ collections }: Schema): Categories {
  const renamed = collections.filter((one) => categoryOf(one) !== one.slug);
  return Object.fromEntries(renamed.map((one) => [one.slug, categoryOf(one)]));
}

/** A configuration whose collections have their categories. */
export function withCategories(model: Model, categories: Categories): Model {
  if (Object.keys(categories).length === 0) return model;
  const collections = [...model.collections.values()].map((one): Collection => {
    const category = Object.hasOwn(categories, one.slug) ? categories[one.slug] : undefined;
    return { ...one, category: category ?? one.category, schema: recordedAs(one.schema, category) };
  });
  return {
    ...model,
    schema: { ...model.schema, collections: collections.map(({ schema }) => schema) },
    collections: new Map(collections.map((one) => [one.slug, one])),
  };
}

/** The names of collections as people write them, and as the log has them. */
export type Names = ReturnType<typeof namesOf>;

/** The names of these collections. One that is not among them has the same name here and there: it is gone. */
export function namesOf(collections: readonly CollectionSchema[]) {
  const slugs = new Map<string, string>(collections.map((one) => [categoryOf(one), one.slug]));
  const categories = new Map(collections.map((one) => [one.slug, categoryOf(one)]));

  /** The category of a collection, by its slug or by itself. */
  function categoryFor(name: string): Category {
    return categories.get(name) ?? (name as Category);
  }

  return {
    categoryFor,
    /** The slug of a collection, by its category or by itself. */
    slugFor: (name: string): string => slugs.get(categoryFor(name)) ?? name,
    /**
     * A stream, an actor, or what filters name, as the log has it: of a collection by its slug, or as it is recorded.
     */
    recorded(text: string): string {
      const parts = text.split('/');
      const at = parts[0] === 'accounts' ? 1 : 0;
      const name = parts[at];
      if (name !== undefined) parts[at] = categoryFor(name);
      return parts.join('/');
    },
  };
}

/** The collections of a log by the slugs that they no longer have, those of today alone. */
export function formerSlugs(epochs: readonly Epoch[], { collections }: Schema): Map<string, string> {
  const today = new Map(collections.map((one) => [categoryOf(one), one.slug]));
  const found = new Map<string, string>();
  for (const { category, former } of linesOf(epochs)) {
    const slug = today.get(category);
    for (const name of former) if (slug !== undefined) found.set(name, slug);
  }
  for (const { slug } of collections) found.delete(slug);
  return found;
}

/** Those that were declared last come last. */
function linesOf(epochs: readonly Epoch[]): Line[] {
  const lines = new Map<Category, Line>();
  for (const { schema } of epochs) {
    for (const one of schema.collections) {
      const category = categoryOf(one);
      const { slug, renamedFrom } = one;
      const before = lines.get(category);
      const former = new Set(before?.former);
      if (before) former.add(before.slug);
      former.delete(slug);
      lines.delete(category);
      lines.set(category, { category, slug, renamedFrom, former });
    }
  }
  return [...lines.values()];
}

type Followed = { line: Line | undefined; problem: string | null };

/**
 * The collection that a declared one goes on: that of `renamedFrom`, also if it has been gone for a while, unless it
 * has documents of its own.
 */
function follow(lines: readonly Line[], { slug, renamedFrom }: CollectionSchema, log: Read): Followed {
  const own = lines.findLast((line) => line.slug === slug);
  if (renamedFrom === undefined) return { line: own, problem: null };
  const source = lines.findLast((line) => line.slug === renamedFrom);
  if (source && !(own && hasEvents(log, own))) return { line: source, problem: null };
  if (source)
    return { line: own, problem: `${slug} has documents of its own, and takes none of ${renamedFrom}; ${leaveOut}` };
  // It was taken up before, or told of.
  if (own?.former.has(renamedFrom) || own?.renamedFrom === renamedFrom) return { line: own, problem: null };
  return { line: own, problem: whyNone(lines, renamedFrom) };
}

const leaveOut = 'leave renamedFrom out';

function whyNone(lines: readonly Line[], renamedFrom: string): string {
  const heir = lines.find(({ former }) => former.has(renamedFrom));
  if (heir) return `the documents of ${show(renamedFrom)} are those of ${heir.slug} since it was renamed; ${leaveOut}`;
  const known = lines.map(({ slug }) => slug);
  return `the log never had a collection ${show(renamedFrom)}, so there are no documents to take${didYouMean(renamedFrom, known)}`;
}

function hasEvents(log: Read, { category }: Line): boolean {
  return log.hasUnder(`${category}/`) || log.hasUnder(`accounts/${category}/`);
}

/** In SQLite, which has tables by that name, cases are one. */
function isRecordedUnder({ category, slug: last }: Line, slug: string): boolean {
  return last !== category && category.toLowerCase() === slug.toLowerCase();
}

function whyTaken(slug: string, { slug: last }: Line, today: string | undefined): string {
  const taken = `${slug} is the first name of ${today ?? last}, whose history is recorded under it`;
  if (today !== undefined) return `${taken}: take another slug`;
  return `${taken}: write renamedFrom: '${last}' if it is that collection, else take another slug`;
}

function recordedAs({ slug, renamedFrom, category: _, ...rest }: CollectionSchema, category = slug as Category) {
  return {
    slug,
    ...(renamedFrom === undefined ? {} : { renamedFrom }),
    ...(category === slug ? {} : { category }),
    ...rest,
  } satisfies CollectionSchema;
}
