import { diffArrays, diffWordsWithSpace } from 'diff';
import { richTextToText } from '../../../../client/rich-text.ts';
import { dataFields, type Field, labelOf } from '../../schema/fields.ts';
import type { Related } from '../../schema/titles.ts';

/** A piece of a text: in both versions, or only in the one before or after. */
export type Piece = { kind: 'same' | 'removed' | 'added'; text: string };

/** The difference of one value. */
export type ValueDifference =
  | { kind: 'text'; pieces: Piece[] }
  | { kind: 'list'; items: { kind: Piece['kind']; value: Related | string }[] }
  | { kind: 'pair'; before: Related | string | null; after: Related | string | null }
  | { kind: 'fields'; fields: { label: string; difference: ValueDifference }[] };

/** Longer texts are shown side by side: words are compared in a time that grows with the square of the difference. */
const longestCompared = 50_000;

/** The way that a field shows the change of its value. */
export function differenceOf(field: Field | undefined, before: unknown, after: unknown): ValueDifference {
  const type = field?.type;
  if (type === 'relationship' || type === 'upload') return relatedDifference(field?.relationTo ?? '', before, after);
  if (type === 'object') return objectDifference(field?.fields ?? [], before, after);
  if (type === 'multiSelect' || (Array.isArray(before) && Array.isArray(after) && areTexts([...before, ...after]))) {
    return listDifference(listOf(before), listOf(after), (item) => optionLabel(field, item));
  }
  if (type === 'array' || type === 'blocks') return itemsDifference(field, listOf(before), listOf(after));
  if (type === 'richText') return textDifference(richTextOf(before), richTextOf(after));
  if (isText(before) && isText(after)) return textDifference(before ?? '', after ?? '', field);
  return { kind: 'pair', before: shown(field, before), after: shown(field, after) };
}

function isText(value: unknown): value is string | null | undefined {
  return typeof value === 'string' || value === null || value === undefined;
}

function areTexts(values: unknown[]): values is string[] {
  return values.every((value) => typeof value === 'string');
}

function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  return value === null || value === undefined ? [] : [value];
}

function textDifference(before: string, after: string, field?: Field): ValueDifference {
  const isShort = field !== undefined && field.type !== 'text' && field.type !== 'textarea';
  const isLong = before.length + after.length > longestCompared;
  if (isShort || isLong || before === '' || after === '') {
    return { kind: 'pair', before: shown(field, before), after: shown(field, after) };
  }
  const pieces = diffWordsWithSpace(before, after).map(({ value, added, removed }): Piece => {
    return { kind: added ? 'added' : removed ? 'removed' : 'same', text: value };
  });
  return { kind: 'text', pieces };
}

/** The text of ProseMirror JSON; of another shape, its JSON. */
function richTextOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return richTextToText(value) || JSON.stringify(value, null, 2);
}

function relatedDifference(relationTo: string, before: unknown, after: unknown): ValueDifference {
  const related = (id: unknown): Related => ({ relationTo, id: String(id) });
  if (Array.isArray(before) || Array.isArray(after)) return listDifference(listOf(before), listOf(after), related);
  const one = (id: unknown) => (id === null || id === undefined ? null : related(id));
  return { kind: 'pair', before: one(before), after: one(after) };
}

function listDifference(
  before: unknown[],
  after: unknown[],
  make: (item: unknown) => Related | string,
): ValueDifference {
  const items = diffArrays(before.map(String), after.map(String)).flatMap(({ value, added, removed }) =>
    value.map((item) => {
      const kind: Piece['kind'] = added ? 'added' : removed ? 'removed' : 'same';
      return { kind, value: make(item) };
    }),
  );
  return { kind: 'list', items };
}

/** Items of an array or of blocks, each in one line of its texts. */
function itemsDifference(field: Field | undefined, before: unknown[], after: unknown[]): ValueDifference {
  const lines = (items: unknown[]) => items.map((item) => lineOf(field, item));
  const items = diffArrays(lines(before), lines(after)).flatMap(({ value, added, removed }) =>
    value.map((line) => ({ kind: (added ? 'added' : removed ? 'removed' : 'same') as Piece['kind'], value: line })),
  );
  return { kind: 'list', items };
}

/** An item in one line: "Name: Berlin · Since: 1990". */
export function lineOf(field: Field | undefined, item: unknown): string {
  if (typeof item !== 'object' || item === null) return String(item);
  const values = item as Record<string, unknown>;
  const block = field?.blocks?.find(({ slug }) => slug === values.blockType);
  const fields = dataFields(block?.fields ?? field?.fields ?? []);
  const parts = fields.flatMap((one) => {
    const text = shown(one, values[one.name]);
    return text === null ? [] : [`${labelOf(one)}: ${typeof text === 'string' ? text : text.id}`];
  });
  return [...(block ? [block.label ?? block.slug] : []), ...parts].join(' · ');
}

function objectDifference(fields: Field[], before: unknown, after: unknown): ValueDifference {
  const valuesOf = (value: unknown) =>
    (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const [old, now] = [valuesOf(before), valuesOf(after)];
  const changed = dataFields(fields).filter(({ name }) => JSON.stringify(old[name]) !== JSON.stringify(now[name]));
  return {
    kind: 'fields',
    fields: changed.map((field) => ({
      label: labelOf(field),
      difference: differenceOf(field, old[field.name], now[field.name]),
    })),
  };
}

function optionLabel(field: Field | undefined, value: unknown): string {
  return field?.options?.find((option) => option.value === value)?.label ?? String(value);
}

/** A value in words; null for one that is empty. */
export function shown(field: Field | undefined, value: unknown): Related | string | null {
  if (value === null || value === undefined || value === '') return null;
  if (field?.type === 'richText') return richTextOf(value);
  if (field?.options !== undefined && !Array.isArray(value)) return optionLabel(field, value);
  if ((field?.type === 'array' || field?.type === 'blocks') && Array.isArray(value)) {
    return value.map((item) => lineOf(field, item)).join('; ') || null;
  }
  if (field?.type === 'object') return lineOf(field, value) || null;
  if (typeof value === 'boolean') return value ? '✓' : '✗';
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  return JSON.stringify(value, null, 2);
}

/** The ids of related documents in a difference, for their titles. */
export function relatedIn(difference: ValueDifference): Related[] {
  const isRelated = (value: Related | string | null): value is Related => typeof value === 'object' && value !== null;
  if (difference.kind === 'pair') return [difference.before, difference.after].filter(isRelated);
  if (difference.kind === 'list') return difference.items.map(({ value }) => value).filter(isRelated);
  if (difference.kind === 'fields') return difference.fields.flatMap((field) => relatedIn(field.difference));
  return [];
}
