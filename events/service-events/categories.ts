import type { Collection, Model } from '../../config/model.ts';
import { type Category, type CollectionSchema, categoryOf, type Schema } from '../../config/schema.ts';
import { didYouMean, show } from '../../config/suggest.ts';
import type { Epoch } from '../facts/lineage.ts';
import type { LogReader } from '../log/log-reader.ts';

/** A schema that follows others: each of its collections has its category. */
export type SettledSchema = {
  schema: Schema;
  /** Each `renamedFrom` without documents to take, one line each. */
  problems: string[];
  /** The slugs under which the history of another collection is recorded, one line each. */
  refusals: string[];
};

/** A collection that a log has had, under all its names. */
type CollectionHistory = {
  category: Category;
  /** The collection as it was last declared. */
  slug: string;
  renamedFrom: string | undefined;
  /** Its former slugs. */
  former: ReadonlySet<string>;
};

/** The part of a log that says whether streams exist. */
export type StreamLookup = Pick<LogReader, 'hasUnder'>;

/**
 * Gives each collection of a schema the category of the collection that it continues. `renamedFrom` is needed once:
 * from then on the schemas of the log have the category.
 *
 * @param epochs in the order of their positions.
 */
export function settle(epochs: readonly Epoch[], schema: Schema, log: StreamLookup): SettledSchema {
  const histories = historiesOf(epochs);
  const followed = schema.collections.map((declared) => ({ declared, ...follow(histories, declared, log) }));
  const now = new Map(followed.map(({ declared, history }) => [history, declared.slug]));
  const problems: string[] = [];
  const refusals: string[] = [];
  for (const { declared, history, problem } of followed) {
    const { slug } = declared;
    if (problem !== null) problems.push(`${slug}.renamedFrom: ${problem}`);
    const other = histories.find((one) => one !== history && isRecordedUnder(one, slug));
    if (other) refusals.push(whyTaken(slug, other, now.get(other)));
  }
  if (refusals.length === 0) refusals.push(...sameNames(followed));
  const collections = followed.map(({ declared, history }) => recordedAs(declared, history?.category));
  return { schema: { ...schema, collections }, problems, refusals };
}

/** The problems of collections whose recorded names differ only in case. */
function sameNames(
  followed: readonly { declared: CollectionSchema; history: CollectionHistory | undefined }[],
): string[] {
  const seen = new Map<string, string>();
  return followed.flatMap(({ declared: { slug }, history }) => {
    const name = (history?.category ?? slug).toLowerCase();
    const other = seen.get(name);
    seen.set(name, slug);
    if (other === undefined) return [];
    return [
      `${other} and ${slug} are recorded under names that differ in their case alone, and cannot be there together`,
    ];
  });
}

/**
 * The categories that differ from the slugs of their collections, by slug. The object can be sent to another thread.
 */
export type Categories = Readonly<Record<string, Category>>;

/** The categories of a settled schema that differ from the slugs. */
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

/** Translates between the names of collections that people write and those in the log. */
export type CollectionNames = ReturnType<typeof namesOf>;

/** The names of these collections. Any other collection is gone, and has one name for people and in the log. */
export function namesOf(collections: readonly CollectionSchema[]) {
  const slugs = new Map<string, string>(collections.map((one) => [categoryOf(one), one.slug]));
  const categories = new Map(collections.map((one) => [one.slug, categoryOf(one)]));

  /** The category of a collection, by its slug or its category. */
  function categoryFor(name: string): Category {
    return categories.get(name) ?? (name as Category);
  }

  return {
    categoryFor,
    /** The slug of a collection, by its category or its slug. */
    slugFor: (name: string): string => slugs.get(categoryFor(name)) ?? name,
    /**
     * A stream, an actor or a filtered name as the log has it; a collection in it may be named by its slug or its
     * category.
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

/** The present collections of a log by their former slugs. */
export function formerSlugs(epochs: readonly Epoch[], { collections }: Schema): Map<string, string> {
  const today = new Map(collections.map((one) => [categoryOf(one), one.slug]));
  const found = new Map<string, string>();
  for (const { category, former } of historiesOf(epochs)) {
    const slug = today.get(category);
    for (const name of former) if (slug !== undefined) found.set(name, slug);
  }
  for (const { slug } of collections) found.delete(slug);
  return found;
}

/** The collections of a log; the last declared ones come last. */
function historiesOf(epochs: readonly Epoch[]): CollectionHistory[] {
  const histories = new Map<Category, CollectionHistory>();
  for (const { schema } of epochs) {
    for (const one of schema.collections) {
      const category = categoryOf(one);
      const { slug, renamedFrom } = one;
      const before = histories.get(category);
      const former = new Set(before?.former);
      if (before) former.add(before.slug);
      former.delete(slug);
      histories.delete(category);
      histories.set(category, { category, slug, renamedFrom, former });
    }
  }
  return [...histories.values()];
}

type FollowedCollection = { history: CollectionHistory | undefined; problem: string | null };

/**
 * The collection that a declared one continues: the collection of `renamedFrom`, even if that has been gone for a
 * while, unless the declared one already has documents.
 */
function follow(
  histories: readonly CollectionHistory[],
  { slug, renamedFrom }: CollectionSchema,
  log: StreamLookup,
): FollowedCollection {
  const own = histories.findLast((history) => history.slug === slug);
  if (renamedFrom === undefined) return { history: own, problem: null };
  const source = histories.findLast((history) => history.slug === renamedFrom);
  if (source && !(own && hasEvents(log, own))) return { history: source, problem: null };
  if (source)
    return { history: own, problem: `${slug} has documents of its own, and takes none of ${renamedFrom}; ${leaveOut}` };
  // An earlier schema has used this rename, or a finding was made about it then.
  if (own?.former.has(renamedFrom) || own?.renamedFrom === renamedFrom) return { history: own, problem: null };
  return { history: own, problem: whyNone(histories, renamedFrom) };
}

const leaveOut = 'leave renamedFrom out';

function whyNone(histories: readonly CollectionHistory[], renamedFrom: string): string {
  const heir = histories.find(({ former }) => former.has(renamedFrom));
  if (heir) return `the documents of ${show(renamedFrom)} are those of ${heir.slug} since it was renamed; ${leaveOut}`;
  const known = histories.map(({ slug }) => slug);
  return `the log never had a collection ${show(renamedFrom)}, so there are no documents to take${didYouMean(renamedFrom, known)}`;
}

function hasEvents(log: StreamLookup, { category }: CollectionHistory): boolean {
  return log.hasUnder(`${category}/`) || log.hasUnder(`accounts/${category}/`);
}

/** Without regard to case, for SQLite has tables by this name. */
function isRecordedUnder({ category, slug: last }: CollectionHistory, slug: string): boolean {
  return last !== category && category.toLowerCase() === slug.toLowerCase();
}

function whyTaken(slug: string, { slug: last }: CollectionHistory, today: string | undefined): string {
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
