import { type DataField, dataFields, type Field } from '../../../schema/fields.ts';
import { isChanged } from '../form/bodies.ts';
import type { Values } from '../form/values.ts';

/** Whose value a field gets: what this form has, or what is at the service now. */
export type Side = 'mine' | 'now';

/** A field that differs: as it was read, as it is now, as it stands in this form. */
export type Difference = {
  field: DataField;
  read: unknown;
  now: unknown;
  mine: unknown;
  /** Changed here and there, and not to the same. */
  isConflict: boolean;
  /** Changed by them. */
  isTheirs: boolean;
};

/**
 * Compares three states of a document, field by field. A field that only one side has changed is listed for who looks,
 * but has only one sensible choice; one that both have changed to the same is no difference.
 */
export function compare(
  fields: readonly Field[],
  { read, now, mine }: { read: Values; now: Values; mine: Values },
): Difference[] {
  const differences: Difference[] = [];
  for (const field of dataFields(fields)) {
    if (field.type === 'join') continue;
    const at = (values: Values) => values[field.name];
    if (!isChanged(field, at(mine), at(now))) continue;
    const isMine = isChanged(field, at(mine), at(read));
    const isTheirs = isChanged(field, at(now), at(read));
    differences.push({ field, read: at(read), now: at(now), mine: at(mine), isConflict: isMine && isTheirs, isTheirs });
  }
  return differences;
}

/** The choice that stands until somebody makes another: what only they changed is taken over, what I typed is mine. */
export function firstChoice({ field, read, mine }: Difference): Side {
  return isChanged(field, mine, read) ? 'mine' : 'now';
}

/** The fields that are taken of what is there now. */
export function taken(differences: readonly Difference[], choices: ReadonlyMap<string, Side>): Values {
  const theirs = differences.filter((one) => (choices.get(one.field.name) ?? firstChoice(one)) === 'now');
  return Object.fromEntries(theirs.map(({ field, now }) => [field.name, now]));
}
