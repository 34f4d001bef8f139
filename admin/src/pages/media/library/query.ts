import { dataFields } from '../../../schema/fields.ts';
import type { Collection } from '../../../schema/model.ts';
import { titleField } from '../../../schema/titles.ts';

/** The view of the library. All of it is in the address. */
export type View = { q: string; type: TypeFilter; sort: Sort; page: number };

/** The kinds of files, by the beginnings of their types. */
const types = { image: ['image/'], video: ['video/'], audio: ['audio/'], text: ['text/', 'application/pdf'] } as const;

/** The kind of files that the library shows; empty for all. */
export type TypeFilter = keyof typeof types | '';

const sorts = { newest: '-createdAt', oldest: 'createdAt', name: 'filename', size: '-filesize' } as const;

/** An order of the library. */
export type Sort = keyof typeof sorts;

/** The kinds of files that the library offers, in order. */
export const typeFilters: TypeFilter[] = ['', 'image', 'video', 'audio', 'text'];

/** The orders that the library offers. */
export const sortNames = Object.keys(sorts) as Sort[];

/** The number of files on a page. */
const perPage = 24;

/** Reads an address; unknown values are ignored. */
export function viewOf(search: URLSearchParams): View {
  const [type, sort, page] = [search.get('type') ?? '', search.get('sort') ?? '', Number(search.get('page') ?? 1)];
  return {
    q: search.get('q') ?? '',
    type: typeFilters.find((one) => one === type) ?? '',
    sort: sortNames.find((one) => one === sort) ?? 'newest',
    page: Number.isInteger(page) && page > 0 ? page : 1,
  };
}

/** Writes a change of the view into an address; a change other than of the page goes back to the first page. */
export function writeView(search: URLSearchParams, change: Partial<View>): URLSearchParams {
  const next = new URLSearchParams(search);
  if (!('page' in change)) next.delete('page');
  for (const [name, value] of Object.entries(change)) {
    const isPlain = value === '' || (name === 'sort' && value === 'newest') || (name === 'page' && value === 1);
    if (isPlain) next.delete(name);
    else next.set(name, String(value));
  }
  return next;
}

/** The fields of a file that a search looks into: its name, its title and its alternative text. */
function searched(collection: Pick<Collection, 'fields' | 'hints' | 'upload'>): string[] {
  const names = ['alt', titleField(collection)];
  const texts = dataFields(collection.fields).filter(
    ({ name, type, access }) => names.includes(name) && type === 'text' && access?.read !== false,
  );
  return ['filename', ...texts.map(({ name }) => name)];
}

/** The parameters of a list for a view. The search is a filter, because a filter works in the past too. */
export function listOf(collection: Pick<Collection, 'fields' | 'hints' | 'upload'>, { q, type, sort, page }: View) {
  const words = q.trim();
  type Conditions = { or: { [field: string]: { like: string } }[] };
  const conditions: Conditions[] = [];
  if (words !== '') conditions.push({ or: searched(collection).map((name) => ({ [name]: { like: words } })) });
  if (type !== '') conditions.push({ or: types[type].map((start) => ({ mimeType: { like: start } })) });
  const where = conditions.length > 0 ? { where: { and: conditions } } : {};
  return { ...where, sort: sorts[sort], page, limit: perPage };
}
