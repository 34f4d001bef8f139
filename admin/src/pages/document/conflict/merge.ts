import { type DataField, dataFields, type Field } from '../../../schema/fields.ts';
import { isChanged } from '../form/bodies.ts';
import type { Values } from '../form/values.ts';

/** The value that a field gets: the one in this form, or the one that the service has now. */
export type Side = 'mine' | 'now';

/** A field that differs: its value as it was read, as it is at the service now, and in this form. */
export type Difference = {
  field: DataField;
  read: unknown;
  now: unknown;
  mine: unknown;
  /** Changed by both sides, to different values. */
  isConflict: boolean;
  /** Changed at the service. */
  isTheirs: boolean;
};

/**
 * Compares three states of a document, field by field. A field that only one side has changed is listed for
 * information: it has only one sensible choice. A field that both sides have changed to the same value is not listed.
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

/** The choice to begin with: the value of the form if the field was changed there, else the value at the service. */
export function firstChoice({ field, read, mine }: Difference): Side {
  return isChanged(field, mine, read) ? 'mine' : 'now';
}

/** The fields whose value at the service is chosen, with these values. */
export function taken(differences: readonly Difference[], choices: ReadonlyMap<string, Side>): Values {
  const theirs = differences.filter((one) => (choices.get(one.field.name) ?? firstChoice(one)) === 'now');
  return Object.fromEntries(theirs.map(({ field, now }) => [field.name, now]));
}
