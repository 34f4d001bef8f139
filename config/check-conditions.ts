import { isNesting, partsOf, tagFields } from './nesting.ts';
import { operatorNames } from './operators.ts';
import { type Checking, isEntry, join, report } from './problems.ts';
import { dataFields, type FieldSchema } from './schema.ts';
import { ownFields } from './sorting.ts';
import { didYouMean, show, showAll } from './suggest.ts';

/** A field as conditions see it: the part of its schema that paths need. */
type FormField = Pick<FieldSchema, 'type' | 'fields' | 'blocks' | 'relationTo' | 'collection'> & { name: string };

/**
 * The fields with which the paths of a condition may begin: those of its own level first, then those of the levels
 * around it.
 */
type Levels = readonly (readonly FormField[])[];

/** A place in the configuration, with the findings so far. */
type Place = { checking: Checking; path: string };

/**
 * Checks each `admin.condition` among the fields of a collection or global. Conditions are evaluated on the values of a
 * form, in which related documents are ids.
 *
 * @param path of the collection or global. If there are problems among its fields, not every field is known, and
 * nothing is checked.
 */
export function checkConditions(checking: Checking, path: string, fields: readonly FieldSchema[]): void {
  const list = join(path, 'fields');
  if (checking.problems.some((problem) => problem.path.startsWith(list))) return;
  checkFields({ checking, path: list }, fields, [[...dataFields(fields), ...ownFields]]);
}

function checkFields({ checking, path }: Place, fields: readonly FieldSchema[], levels: Levels): void {
  for (const [index, field] of fields.entries()) {
    const at = { checking, path: join(path, field.name ?? index) };
    // A row only arranges the fields inside it.
    if (field.name === undefined) {
      checkFields({ checking, path: join(at.path, 'fields') }, field.fields ?? [], levels);
      continue;
    }
    if (field.admin?.condition !== undefined) {
      checkWhere({ checking, path: join(join(at.path, 'admin'), 'condition') }, field.admin.condition, levels);
    }
    for (const { slug, fields: inside } of partsOf<FieldSchema>(field)) {
      const part = slug === null ? at.path : join(join(at.path, 'blocks'), slug);
      const level = [...dataFields(inside), ...(slug === null ? [] : tagFields(field))];
      checkFields({ checking, path: join(part, 'fields') }, inside, [level, ...levels]);
    }
  }
}

function checkWhere(at: Place, where: unknown, levels: Levels): void {
  if (!isEntry(where)) {
    report(at, `must be an object, got ${show(where)}`);
    return;
  }
  for (const [key, value] of Object.entries(where)) {
    const inside = { ...at, path: join(at.path, key) };
    if (key === 'and' || key === 'or') checkList(inside, value, levels);
    else checkPath(inside, { key, value }, levels);
  }
}

function checkList(at: Place, value: unknown, levels: Levels): void {
  if (!Array.isArray(value)) {
    report(at, `must be a list of where objects, got ${show(value)}`);
    return;
  }
  for (const [index, one] of value.entries()) checkWhere({ ...at, path: join(at.path, index) }, one, levels);
}

function checkPath(at: Place, { key, value }: { key: string; value: unknown }, levels: Levels): void {
  const problem = pathProblem(key.split('.'), levels);
  if (problem !== null) {
    report(at, problem);
    return;
  }
  const words = isEntry(value) ? Object.keys(value) : [];
  if (words.length === 0) report(at, `needs an operator, like { equals: value }; operators: ${showAll(operatorNames)}`);
  for (const word of words) {
    if (operatorNames.some((name) => name === word)) continue;
    const hint = didYouMean(word, operatorNames);
    report(
      { ...at, path: join(at.path, word) },
      `${show(word)} is not an operator${hint}; allowed: ${showAll(operatorNames)}`,
    );
  }
}

/** The reason why a path leads to no value of a form; null if it leads to one. */
function pathProblem(names: readonly string[], levels: Levels): string | null {
  let level = levels.find((fields) => fields.some(({ name }) => name === names[0])) ?? levels.flat();
  for (const [index, name] of names.entries()) {
    // Several blocks may have a field with the same name.
    const found = level.filter((one) => one.name === name);
    if (found.length === 0) {
      const known = [...new Set(level.map((one) => one.name))];
      const where = index === 0 ? '' : ` of ${show(names.slice(0, index).join('.'))}`;
      return `${show(name)} is not a field${where}${didYouMean(name, known)}; allowed: ${showAll(known)}`;
    }
    if (index === names.length - 1) return null;
    const nested = found.filter(isNesting);
    const shown = show(names.slice(0, index + 1).join('.'));
    if (found.some(({ relationTo, collection }) => relationTo ?? collection))
      return `${shown} is an id in a form: a condition does not look into related documents`;
    if (nested.length === 0) return `${shown} has no fields inside`;
    level = nested.flatMap((one) => [
      ...partsOf<FieldSchema>(one).flatMap(({ fields }) => dataFields(fields)),
      ...tagFields(one),
    ]);
  }
  return null;
}
