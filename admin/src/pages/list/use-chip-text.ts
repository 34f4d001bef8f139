import { useWords } from '../../words/index.ts';
import { placesOf } from './columns.ts';
import { type Item, isKept } from './filter.ts';
import { textOfValue } from './texts.ts';
import type { ListState } from './use-list.ts';
import { useTelling } from './use-texts.ts';
import { useTitles } from './use-titles.ts';

const mostLetters = 80;

/** The words of an operator, as they fit a type. */
export function useOperatorText(): (operator: string, type: string | undefined) => string {
  const { list } = useWords();
  return (operator, type) => {
    const isTime = type === 'date' || type === 'datetime' || type === 'time';
    return (isTime ? list.timeOperators[operator] : undefined) ?? list.operators[operator] ?? operator;
  };
}

/** The function that says an item of a filter in words. */
export function useChipText({ collection, filter }: ListState): (item: Item) => string {
  const { list } = useWords();
  const telling = useTelling();
  const operatorText = useOperatorText();
  const places = placesOf(collection, { createdAt: list.createdAt, updatedAt: list.updatedAt });
  const placeOf = (path: string) => places.find((place) => place.path === path);
  const titles = useAllTitles(filter.items, (path) => placeOf(path)?.field.relationTo);
  return (item) => {
    if (isKept(item)) return shortened(JSON.stringify(item.kept));
    const place = placeOf(item.path);
    const label = place?.label ?? item.path;
    if (item.operator === 'exists') return `${label} ${item.value === true ? list.hasValue : list.hasNoValue}`;
    const values = Array.isArray(item.value) ? item.value : [item.value];
    const texts = values.map((value) => {
      if (value === null) return list.empty;
      if (typeof value === 'string' && titles.has(value)) return titles.get(value);
      return place ? textOfValue(value, place.field, telling) || JSON.stringify(value) : JSON.stringify(value);
    });
    return shortened(`${label} ${operatorText(item.operator, place?.field.type)} ${texts.join(', ')}`);
  };
}

/** The titles of the documents that the conditions name: those of one collection in one read, of three collections at most. */
function useAllTitles(items: readonly Item[], targetOf: (path: string) => string | undefined) {
  const ids = new Map<string, string[]>();
  for (const item of items) {
    if (isKept(item)) continue;
    const slug = targetOf(item.path);
    const texts = [item.value].flat().filter((value) => typeof value === 'string');
    if (slug !== undefined) ids.set(slug, [...(ids.get(slug) ?? []), ...texts]);
  }
  const [first, second, third] = [...ids];
  const found = [useTitles(...read(first)), useTitles(...read(second)), useTitles(...read(third))];
  return new Map(found.flatMap((titles) => [...titles]));
}

function read(entry: [string, string[]] | undefined): [string | undefined, string[]] {
  return entry === undefined ? [undefined, []] : [entry[0], [...new Set(entry[1])].slice(0, 100)];
}

function shortened(text: string): string {
  return text.length > mostLetters ? `${text.slice(0, mostLetters)}…` : text;
}
