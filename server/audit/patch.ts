import { isObject, type Json, type JsonObject, memberOf } from '../../config/schema.ts';

/** An operation of a JSON Patch (RFC 6902). */
type Operation = { op: 'add' | 'replace'; path: string; value: Json } | { op: 'remove'; path: string };

/**
 * Comparing lists costs the product of their lengths, and each item an operation: longer ones are replaced as a whole.
 */
const mostPairs = 10_000;
const mostItems = 1000;

/**
 * The JSON Patch (RFC 6902) that turns one value into another. It takes time in proportion to the size of both values,
 * whatever their shape, since others wrote them.
 */
export function patchBetween(before: Json, after: Json): Operation[] {
  const operations: Operation[] = [];
  const numberOf = numbering();
  compare(before, after, '');
  return operations;

  function compare(old: Json, now: Json, path: string): void {
    if (numberOf(old) === numberOf(now)) return;
    if (Array.isArray(old) && Array.isArray(now)) compareItems(old, now, path);
    else if (isObject(old) && isObject(now)) compareMembers(old, now, path);
    else operations.push({ op: 'replace', path, value: now });
  }

  function compareMembers(old: JsonObject, now: JsonObject, path: string): void {
    const at = (name: string) => `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    for (const name of Object.keys(old))
      if (!Object.hasOwn(now, name)) operations.push({ op: 'remove', path: at(name) });
    for (const [name, value] of Object.entries(now)) {
      if (!Object.hasOwn(old, name)) operations.push({ op: 'add', path: at(name), value });
    }
    for (const [name, value] of Object.entries(now)) {
      const before = memberOf(old, name);
      if (before !== undefined) compare(before, value, at(name));
    }
  }

  function compareItems(old: readonly Json[], now: readonly Json[], path: string): void {
    const [oldNumbers, nowNumbers] = [old.map((one) => numberOf(one)), now.map((one) => numberOf(one))];
    const { start, oldEnd, nowEnd } = differing(oldNumbers, nowNumbers);
    const [width, height] = [oldEnd - start, nowEnd - start];
    if (width + height > mostItems || width * height > mostPairs) {
      operations.push({ op: 'replace', path, value: [...now] });
      return;
    }
    const kept = commonItems(oldNumbers.slice(start, oldEnd), nowNumbers.slice(start, nowEnd));
    let [from, to, index] = [start, start, start];
    for (const [keptFrom, keptTo] of [...kept, [width, height]] as const) {
      const [gapFrom, gapTo] = [start + keptFrom, start + keptTo];
      for (; from < gapFrom && to < gapTo; from += 1, to += 1, index += 1)
        compare(old[from] as Json, now[to] as Json, `${path}/${index}`);
      for (; from < gapFrom; from += 1) operations.push({ op: 'remove', path: `${path}/${index}` });
      for (; to < gapTo; to += 1, index += 1)
        operations.push({ op: 'add', path: `${path}/${index}`, value: now[to] as Json });
      [from, to, index] = [from + 1, to + 1, index + 1];
    }
  }
}

/**
 * Numbers values so that two are equal exactly when their numbers are: each is looked at once, however often it is
 * compared.
 */
function numbering(): (value: Json) => number {
  const numbers = new Map<string, number>();
  const known = new WeakMap<object, number>();

  function numberOf(value: Json): number {
    if (value === null || typeof value !== 'object') return numbered(JSON.stringify(value));
    const found = known.get(value) ?? numbered(Array.isArray(value) ? listText(value) : objectText(value));
    known.set(value, found);
    return found;
  }

  const listText = (list: readonly Json[]) => `[${list.map((one) => numberOf(one)).join()}]`;
  const objectText = (object: JsonObject) => {
    const names = Object.keys(object).sort();
    return `{${names.map((name) => `${JSON.stringify(name)}:${numberOf(object[name] as Json)}`).join()}}`;
  };

  function numbered(text: string): number {
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    return number;
  }

  return numberOf;
}

/** Where two lists begin and cease to differ. */
function differing(old: readonly number[], now: readonly number[]): { start: number; oldEnd: number; nowEnd: number } {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let [oldEnd, nowEnd] = [old.length, now.length];
  for (; oldEnd > start && nowEnd > start && old[oldEnd - 1] === now[nowEnd - 1]; oldEnd -= 1) nowEnd -= 1;
  return { start, oldEnd, nowEnd };
}

/** A longest common subsequence: the indexes of each pair, in their order. */
function commonItems(old: readonly number[], now: readonly number[]): [from: number, to: number][] {
  const row = now.length + 1;
  // lengths[i * row + j]: of the longest common part of old from i on and now from j on.
  const lengths = new Uint16Array((old.length + 1) * row);
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      const [down = 0, right = 0, both = 0] = [
        lengths[(i + 1) * row + j],
        lengths[i * row + j + 1],
        lengths[(i + 1) * row + j + 1],
      ];
      lengths[i * row + j] = old[i] === now[j] ? both + 1 : Math.max(down, right);
    }
  }
  const pairs: [number, number][] = [];
  for (let [i, j] = [0, 0]; i < old.length && j < now.length; ) {
    if (old[i] === now[j]) {
      pairs.push([i, j]);
      [i, j] = [i + 1, j + 1];
    } else if ((lengths[(i + 1) * row + j] ?? 0) >= (lengths[i * row + j + 1] ?? 0)) i += 1;
    else j += 1;
  }
  return pairs;
}
