import { dataFields, type Field, labelOf } from '../../../schema/fields.ts';
import { getAt, isObject, type Values } from './values.ts';

/** `code` as the service has it. */
type Problem = { field: string; message: string; code?: string };

/**
 * The messages of the service as they are shown at their fields: they name the label of the field, not its path in the
 * body.
 */
export function saidAtFields(fields: readonly Field[], values: Values, problems: readonly Problem[]): Problem[] {
  return problems.map(({ field, message, code }) => {
    const label = labelAt(fields, values, field);
    const isNamed = label !== undefined && message.startsWith(`${field} `);
    const said = isNamed ? label + message.slice(field.length) : message;
    // The form shows what came.
    return { field, message: code === 'required' ? said.replace(/, got [^,]*$/, '') : said };
  });
}

/** The label of the field at a path; in `blocks` the item says which fields there are. */
export function labelAt(fields: readonly Field[], values: Values, path: string): string | undefined {
  let level: readonly Field[] = fields;
  let found: Field | undefined;
  const parts = path.split('.');
  for (const [index, part] of parts.entries()) {
    if (/^\d+$/.test(part)) {
      const item = getAt(values, parts.slice(0, index + 1).join('.'));
      const block = found?.blocks?.find(({ slug }) => isObject(item) && slug === item.blockType);
      level = block?.fields ?? found?.fields ?? [];
      continue;
    }
    found = dataFields(level).find(({ name }) => name === part);
    if (found === undefined) return undefined;
    level = found.fields ?? [];
  }
  return found === undefined ? undefined : labelOf(found);
}
