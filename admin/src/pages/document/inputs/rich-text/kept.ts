import { withoutNulls } from './shape.ts';

type Json = Record<string, unknown>;

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Whether `all` holds everything of a value. It may have further attributes, which the editor sets itself, and nothing
 * else.
 */
export function holds(all: unknown, value: unknown): boolean {
  if (Array.isArray(value)) {
    const items = Array.isArray(all) ? all : [];
    return items.length === value.length && value.every((item, place) => holds(items[place], item));
  }
  if (!isJson(value)) return all === value;
  return Object.entries(value).every(([name, member]) => {
    if (isNothing(member)) return true;
    return isJson(all) && Object.hasOwn(all, name) && holds(all[name], member);
  });
}

function isNothing(member: unknown): boolean {
  if (member === null || member === undefined) return true;
  return typeof member === 'object' && Object.values(member).every((one) => one === null || one === undefined);
}

/** A document with its marks in the order of the editor: the order has no meaning. */
export function withMarksInOrder(value: unknown, rankOf: (mark: string) => number): unknown {
  if (Array.isArray(value)) return value.map((item) => withMarksInOrder(item, rankOf));
  if (!isJson(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (name === 'attrs') return [name, member];
      if (name !== 'marks' || !Array.isArray(member)) return [name, withMarksInOrder(member, rankOf)];
      const rank = (mark: unknown) => (isJson(mark) ? rankOf(String(mark.type)) : 0);
      return [name, [...member].sort((one, other) => rank(one) - rank(other))];
    }),
  );
}

/** A document in which neighbouring texts with the same marks are joined, as the editor has them. */
export function withTextsJoined(value: unknown): unknown {
  if (Array.isArray(value)) return value.reduce<unknown[]>(joined, []);
  if (!isJson(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, name === 'content' ? withTextsJoined(member) : member]),
  );
}

function joined(before: unknown[], node: unknown): unknown[] {
  const last = before.at(-1);
  if (!isText(last) || !isText(node) || marksOf(last) !== marksOf(node)) return [...before, withTextsJoined(node)];
  return [...before.slice(0, -1), { ...last, text: last.text + node.text }];
}

function isText(node: unknown): node is Json & { text: string } {
  return isJson(node) && node.type === 'text' && typeof node.text === 'string';
}

function marksOf({ marks }: Json): string {
  return JSON.stringify(withoutNulls(Array.isArray(marks) ? marks : []));
}
