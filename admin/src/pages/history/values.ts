import { diffArrays, diffWordsWithSpace } from 'diff';
import { richTextToText } from '../../../../client/rich-text.ts';
import { dataFields, type Field, labelOf } from '../../schema/fields.ts';
import type { Related } from '../../schema/titles.ts';

/** A piece of a text: in both versions, or only in the older or the newer. */
type Piece = { kind: 'same' | 'removed' | 'added'; text: string };

/** A value for display: a text, a related document, or several of them in one line. */
export type DisplayValue = string | Related | Line;
type Line = (string | Related)[];

/** The difference of one value. */
export type ValueDifference =
  | { kind: 'text'; pieces: Piece[] }
  | { kind: 'list'; items: { kind: Piece['kind']; value: DisplayValue }[] }
  | { kind: 'pair'; before: DisplayValue | null; after: DisplayValue | null }
  | { kind: 'fields'; fields: { label: string; difference: ValueDifference }[] };

/** Longer texts are shown side by side: the time for comparing words grows with the square of the difference. */
const longestCompared = 50_000;

/** The difference between two values of a field, as its type shows it. */
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
  return { kind: 'pair', before: displayOf(field, before), after: displayOf(field, after) };
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
    return { kind: 'pair', before: displayOf(field, before), after: displayOf(field, after) };
  }
  const pieces = diffWordsWithSpace(before, after).map(({ value, added, removed }): Piece => {
    return { kind: added ? 'added' : removed ? 'removed' : 'same', text: value };
  });
  return { kind: 'text', pieces };
}

/** The text of ProseMirror JSON; for a value of another shape, its JSON. */
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

function listDifference(before: unknown[], after: unknown[], make: (item: unknown) => DisplayValue): ValueDifference {
  const items = diffArrays(before.map(String), after.map(String)).flatMap(({ value, added, removed }) =>
    value.map((item) => {
      const kind: Piece['kind'] = added ? 'added' : removed ? 'removed' : 'same';
      return { kind, value: make(item) };
    }),
  );
  return { kind: 'list', items };
}

/** The difference of an array or of blocks, each item in one line of its values. */
function itemsDifference(field: Field | undefined, before: unknown[], after: unknown[]): ValueDifference {
  const lines = (items: unknown[]) => items.map((item) => lineOf(field, item));
  const comparator = (one: DisplayValue, other: DisplayValue) => JSON.stringify(one) === JSON.stringify(other);
  const items = diffArrays(lines(before), lines(after), { comparator }).flatMap(({ value, added, removed }) =>
    value.map((line) => ({ kind: (added ? 'added' : removed ? 'removed' : 'same') as Piece['kind'], value: line })),
  );
  return { kind: 'list', items };
}

/** An item in one line: "Name: Berlin · Since: 1990". */
export function lineOf(field: Field | undefined, item: unknown): DisplayValue {
  return fewestParts(partsOfItem(field, item)) ?? '';
}

function partsOfItem(field: Field | undefined, item: unknown): Line {
  if (typeof item !== 'object' || item === null) return [String(item)];
  const values = item as Record<string, unknown>;
  const block = field?.blocks?.find(({ slug }) => slug === values.blockType);
  const named = dataFields(block?.fields ?? field?.fields ?? []).flatMap((one): Line[] => {
    const parts = partsOf(one, values[one.name]);
    return parts.length === 0 ? [] : [[`${labelOf(one)}: `, ...parts]];
  });
  return between([...(block ? [[block.label ?? block.slug]] : []), ...named], ' · ');
}

/** The texts and related documents of a value, in order; an empty list for an empty value. */
function partsOf(field: Field | undefined, value: unknown): Line {
  if (value === null || value === undefined || value === '') return [];
  if (field?.type === 'richText') return [richTextOf(value)];
  if (field?.type === 'object') return partsOfItem(field, value);
  if (Array.isArray(value) && field !== undefined && field.type !== 'json') {
    const isItems = field.type === 'array' || field.type === 'blocks';
    return isItems
      ? between(
          value.map((item) => partsOfItem(field, item)),
          '; ',
        )
      : between(
          value.map((item) => partsOf(field, item)),
          ', ',
        );
  }
  if (field?.type === 'relationship' || field?.type === 'upload') {
    return [{ relationTo: field.relationTo ?? '', id: String(value) }];
  }
  if (field?.options !== undefined) return [optionLabel(field, value)];
  if (typeof value === 'boolean') return [value ? '✓' : '✗'];
  if (typeof value === 'string' || typeof value === 'number') return [String(value)];
  return [JSON.stringify(value, null, 2)];
}

function between(lines: readonly Line[], separator: string): Line {
  return lines.flatMap((line, index) => (index === 0 ? line : [separator, ...line]));
}

/** A line in the fewest parts: neighbouring texts are joined. */
function fewestParts(line: Line): DisplayValue | null {
  const parts: Line = [];
  for (const part of line) {
    const last = parts.at(-1);
    if (typeof part === 'string' && typeof last === 'string') parts[parts.length - 1] = last + part;
    else parts.push(part);
  }
  return parts.length > 1 ? parts : (parts[0] ?? null);
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

/** A value for display; null for an empty value. */
function displayOf(field: Field | undefined, value: unknown): DisplayValue | null {
  return fewestParts(partsOf(field, value));
}

/** The related documents in a difference, to read their titles. */
export function relatedIn(difference: ValueDifference): Related[] {
  if (difference.kind === 'pair') return [difference.before, difference.after].flatMap(relatedOf);
  if (difference.kind === 'list') return difference.items.flatMap(({ value }) => relatedOf(value));
  if (difference.kind === 'fields') return difference.fields.flatMap((field) => relatedIn(field.difference));
  return [];
}

function relatedOf(value: DisplayValue | null): Related[] {
  if (value === null || typeof value === 'string') return [];
  return Array.isArray(value) ? value.flatMap(relatedOf) : [value];
}
