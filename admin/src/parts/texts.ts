import { richTextToText } from '../../../client/rich-text.ts';
import type { DataField } from '../schema/fields.ts';
import type { Collection } from '../schema/model.ts';
import { titleOf } from '../schema/titles.ts';

/** The language and the names with which the texts of values are made. */
export type Formatters = {
  language: string;
  yes: string;
  no: string;
  items: (count: number) => string;
  /** The collection that a field points into; undefined if the user cannot see it. */
  target: (slug: string) => Collection | undefined;
  /** True: nothing is shortened. */
  isWhole?: boolean;
};

const mostLetters = 200;
const mostItems = 5;

/** The text of a value, in the language of the user; empty if there is no value. */
export function textOfValue(value: unknown, field: DataField, formatters: Formatters): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return listText(value, field, formatters);
  if (typeof value === 'boolean') return value ? formatters.yes : formatters.no;
  if (typeof value === 'number') return value.toLocaleString(formatters.language, { maximumFractionDigits: 10 });
  if (typeof value === 'object') return objectText(value, field, formatters);
  return wordsOf(String(value), field, formatters);
}

function listText(values: readonly unknown[], field: DataField, formatters: Formatters): string {
  if (values.length === 0) return '';
  const isNamed = field.type === 'relationship' || field.type === 'multiSelect';
  if (!isNamed) return formatters.items(values.length);
  const shown = formatters.isWhole ? values.length : mostItems;
  const texts = values.slice(0, shown).map((value) => textOfValue(value, field, formatters));
  return values.length > shown ? `${texts.join(', ')} … (${values.length})` : texts.join(', ');
}

function objectText(value: object, field: DataField, formatters: Formatters): string {
  const { type, relationTo } = field;
  if (type === 'richText') {
    const text = richTextToText(value) || JSON.stringify(value);
    return formatters.isWhole ? text : shortened(text);
  }
  if (type !== 'relationship' && type !== 'upload') return shortened(JSON.stringify(value));
  const target = formatters.target(relationTo ?? '');
  return target === undefined ? String((value as { id?: unknown }).id) : titleOf(target, value);
}

function wordsOf(text: string, { type, options, relationTo }: DataField, { language, isWhole }: Formatters): string {
  if (type === 'select' || type === 'multiSelect' || type === 'radio') {
    return options?.find((option) => option.value === text)?.label ?? text;
  }
  // The id is shown if its document cannot be read.
  if (relationTo !== undefined) return isWhole ? text : `${text.slice(0, 8)}…`;
  if (type === 'datetime') return momentText(text, language);
  if (type === 'date') return dayText(text, language);
  return shortened(text);
}

/** A day of the calendar, the same in every time zone. */
function dayText(day: string, language: string): string {
  const time = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(time)
    ? day
    : new Date(time).toLocaleDateString(language, { dateStyle: 'medium', timeZone: 'UTC' });
}

function momentText(moment: string, language: string): string {
  const time = Date.parse(moment);
  return Number.isNaN(time)
    ? moment
    : new Date(time).toLocaleString(language, { dateStyle: 'medium', timeStyle: 'short' });
}

function shortened(text: string): string {
  const line = text
    .slice(0, mostLetters * 2)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > mostLetters ? `${line.slice(0, mostLetters)}…` : line;
}
