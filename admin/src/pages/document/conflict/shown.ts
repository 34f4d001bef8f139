import { richTextToText } from '../../../../../client/rich-text.ts';
import { dataFields, type Field, labelOf } from '../../../schema/fields.ts';
import type { Related } from '../../../schema/titles.ts';
import { isEmpty, isObject, itemFields } from '../form/values.ts';
import { idsOf } from '../inputs/relationship/order.ts';

/** `titles` of related documents by `<collection>/<id>`; a document without a title there is shown by its id. */
type Words = { language: string; yes: string; no: string; titles: ReadonlyMap<string, string> };

/** A value as lines of text; empty if there is no value. */
export function shownValue(field: Field, value: unknown, words: Words): string {
  if (isEmpty(value)) return '';
  if (Array.isArray(value) && (field.type === 'array' || field.type === 'blocks')) {
    return value.map((item, index) => `${index + 1}. ${shownItem(field, item, words)}`).join('\n');
  }
  if (Array.isArray(value) && field.type !== 'json' && field.type !== 'richText') {
    return value.map((one) => shownValue(field, one, words)).join(', ');
  }
  if (field.type === 'object' && isObject(value)) return shownMembers(field.fields ?? [], value, words);
  if (field.type === 'richText') return richTextToText(value) || JSON.stringify(value, null, 2);
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  if (typeof value === 'string') return shownText(field, value, words);
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value);
}

/** The documents that a value points at, also from the objects and items inside it. */
export function relatedIn(field: Field, value: unknown): Related[] {
  const { relationTo } = field;
  if (relationTo !== undefined) return idsOf(value).map((id) => ({ relationTo, id }));
  const items = Array.isArray(value) ? value : [value];
  return items
    .filter(isObject)
    .flatMap((item) =>
      dataFields(itemFields({ ...field, name: field.name ?? '' }, item) ?? []).flatMap((inner) =>
        relatedIn(inner, item[inner.name]),
      ),
    );
}

function shownText(field: Field, value: string, { language, titles }: Words): string {
  if (field.relationTo !== undefined) return titles.get(`${field.relationTo}/${value}`) ?? value;
  if (field.type === 'datetime' && !Number.isNaN(Date.parse(value))) return new Date(value).toLocaleString(language);
  return field.options?.find((option) => option.value === value)?.label ?? value;
}

function shownItem(field: Field, item: unknown, words: Words): string {
  const fields = itemFields({ ...field, name: field.name ?? '' }, item);
  if (fields === undefined || !isObject(item)) return JSON.stringify(item);
  const kind = field.type === 'blocks' ? `${String(item.blockType)}: ` : '';
  return kind + shownMembers(fields, item, words).replaceAll('\n', '; ');
}

function shownMembers(fields: readonly Field[], values: Record<string, unknown>, words: Words): string {
  return dataFields(fields)
    .map((field) => [labelOf(field), shownValue(field, values[field.name], words)] as const)
    .filter(([, text]) => text !== '')
    .map(([label, text]) => `${label}: ${text}`)
    .join('\n');
}
