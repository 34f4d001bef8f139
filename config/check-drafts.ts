import type { DraftOptions, Field } from './model.ts';
import { at, join, optionOf, readSwitch, report, rules, type Spot } from './problems.ts';
import type { DraftsSchema } from './schema.ts';
import { didYouMean, show, showAll } from './suggest.ts';

const draftKeys = ['validate', 'publishedAt'] as const;

/** A collection or global whose fields are checked; `path` is its place in the configuration. */
type Holder = {
  path: string;
  kind: 'collection' | 'global';
  isAuth?: boolean;
  isUpload?: boolean;
  fields: readonly Field[];
};

/** Checks the options of drafts; null if they are turned off. */
export function checkDrafts(input: Spot, holder: Holder): DraftOptions | null {
  const spot = readSwitch(input, draftKeys, 'drafts');
  if (!spot) return null;
  if (holder.isAuth) report(spot, 'must not be set with auth: drafts are of documents, not of accounts');
  else if (holder.isUpload) report(spot, 'must not be set with upload: drafts are of documents, not of files');
  const publishedAt = optionOf(at(spot, 'publishedAt'), rules.text, null);
  if (publishedAt !== null) checkPublishedAt({ ...at(spot, 'publishedAt'), value: publishedAt }, holder);
  return { validates: optionOf(at(spot, 'validate'), rules.boolean, false), publishedAt };
}

function checkPublishedAt(spot: Spot<string>, { path, kind, fields }: Holder): void {
  // If there are problems among the fields, not every field is known.
  if (spot.checking.problems.some((problem) => problem.path.startsWith(join(path, 'fields')))) return;
  const times = fields.filter(({ type }) => type === 'datetime').map(({ name }) => name);
  if (times.includes(spot.value)) return;
  const allowed = times.length === 0 ? `; the ${kind} has no such field` : `; allowed: ${showAll(times)}`;
  const wanted = `must be the name of a datetime field of the ${kind}, got ${show(spot.value)}`;
  report(spot, wanted + allowed + didYouMean(spot.value, times));
}

/** The member `drafts` of a schema; an empty object without drafts. */
export function draftsSchemaOf(options: DraftOptions | null): { drafts?: DraftsSchema } {
  if (!options) return {};
  const { validates, publishedAt } = options;
  if (!validates && publishedAt === null) return { drafts: true };
  return { drafts: { ...(validates ? { validate: true } : {}), ...(publishedAt === null ? {} : { publishedAt }) } };
}
