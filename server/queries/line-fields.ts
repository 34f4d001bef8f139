import type { Field } from '../../config/model.ts';

/** The state of a document, as it is filtered, sorted and selected. */
const status: Field = {
  name: '__status',
  type: 'select',
  options: ['published', 'changed', 'draft'].map((value) => ({ label: value, value })),
};
const publishedAt: Field = { name: '__publishedAt', type: 'datetime' };
const review: Field = {
  name: '__review',
  type: 'select',
  options: ['open', 'refused'].map((value) => ({ label: value, value })),
};
const editors: Field = { name: '__editors', type: 'text', hasMany: true };

/** The names that tell of drafts, so that they are only in the view of drafts. */
export const draftNames: readonly string[] = ['__status', '__review', '__editors'];

/** The members that say how a document is published, which requests can filter and sort by. */
export type LineFields = { toFilter: readonly Field[]; toSelect: readonly Field[] };

const none: LineFields = { toFilter: [], toSelect: [] };
const ofPublic: LineFields = { toFilter: [publishedAt], toSelect: [status, publishedAt] };
const ofDrafts: LineFields = { toFilter: [status, publishedAt, review], toSelect: [status, publishedAt, review] };
const withEditors: LineFields = {
  toFilter: [...ofDrafts.toFilter, editors],
  toSelect: [...ofDrafts.toSelect, editors],
};

/**
 * The members of a collection or global that say how a document is published.
 *
 * @param view `public` for what readers get, `drafts` for the view of drafts, `editors` if the caller may also see who
 * changed what; null without drafts.
 */
export function lineFields(view: 'public' | 'drafts' | 'editors' | null): LineFields {
  if (view === null) return none;
  if (view === 'public') return ofPublic;
  return view === 'drafts' ? ofDrafts : withEditors;
}
