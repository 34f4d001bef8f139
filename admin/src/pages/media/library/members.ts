import { type DataField, dataFields } from '../../../schema/fields.ts';
import type { Collection } from '../../../schema/model.ts';
import { titleField } from '../../../schema/titles.ts';
import { askedFields, shownMembers } from '../files.ts';

/** The members of a document that are read to show it: its title, if the user may read it, and those of a file. */
export function membersOf(collection: Collection): string[] {
  const title = titleField(collection);
  const [first] = title.split('.', 1);
  const field = dataFields(collection.fields).find(({ name }) => name === first);
  const isReadable = field?.access?.read !== false;
  const ofFile = collection.upload ? [...shownMembers, ...readable(askedFields(collection))] : [];
  return [...new Set(['id', ...(isReadable ? [title] : []), ...ofFile])];
}

function readable(fields: readonly DataField[]): string[] {
  return fields.filter(({ access }) => access?.read !== false).map(({ name }) => name);
}
