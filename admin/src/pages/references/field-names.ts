import { dataFields, type Field, inWords, labelOf } from '../../schema/fields.ts';

/** The labels of the fields on a dotted path, as a form shows them: "Sections › Author". */
export function namesOf(fields: readonly Field[], path: string): string {
  let level: readonly Field[] = fields;
  const names = path.split('.').map((part) => {
    const field = dataFields(level).find(({ name }) => name === part);
    level = field?.fields ?? field?.blocks?.flatMap((block) => block.fields) ?? [];
    return field === undefined ? inWords(part) : labelOf(field);
  });
  return names.join(' › ');
}
