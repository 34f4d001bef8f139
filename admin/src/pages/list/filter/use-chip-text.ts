import { textOfValue } from '../../../parts/texts.ts';
import { useFormatters } from '../../../parts/use-texts.ts';
import type { Related } from '../../../schema/titles.ts';
import { useTitles } from '../../../service/related-titles.ts';
import { useWords } from '../../../words/index.ts';
import { readableFields } from '../view/columns.ts';
import type { ListState } from '../view/use-list.ts';
import { type Item, isKept } from './filter.ts';
import { isOperator } from './operators.ts';

const mostLetters = 80;

/** A function that gives the text of an operator for a field type. */
export function useOperatorText(): (operator: string, type: string | undefined) => string {
  const { list } = useWords();
  return (operator, type) => {
    if (!isOperator(operator)) return operator;
    const isTime = type === 'date' || type === 'datetime' || type === 'time';
    return (isTime ? list.timeOperators[operator] : undefined) ?? list.operators[operator];
  };
}

/** A function that gives the text of an item of a filter. */
export function useChipText({ collection, filter }: ListState): (item: Item) => string {
  const words = useWords();
  const { list } = words;
  const formatters = useFormatters();
  const operatorText = useOperatorText();
  const readable = readableFields(collection, words);
  const entryOf = (path: string) => readable.find((entry) => entry.path === path);
  const titles = useTitles(relatedOf(filter.items, (path) => entryOf(path)?.field.relationTo));
  return (item) => {
    if (isKept(item)) return shortened(JSON.stringify(item.kept));
    const entry = entryOf(item.path);
    const label = entry?.label ?? item.path;
    if (item.operator === 'exists') return `${label} ${item.value === true ? list.hasValue : list.hasNoValue}`;
    const values = Array.isArray(item.value) ? item.value : [item.value];
    const texts = values.map((value) => {
      if (value === null) return list.empty;
      const title = titles.get(`${entry?.field.relationTo}/${value}`);
      if (title !== undefined) return title;
      return entry ? textOfValue(value, entry.field, formatters) || JSON.stringify(value) : JSON.stringify(value);
    });
    return shortened(`${label} ${operatorText(item.operator, entry?.field.type)} ${texts.join(', ')}`);
  };
}

/** The related documents that the conditions name. */
function relatedOf(items: readonly Item[], targetOf: (path: string) => string | undefined): Related[] {
  return items.flatMap((item) => {
    const relationTo = isKept(item) ? undefined : targetOf(item.path);
    if (isKept(item) || relationTo === undefined) return [];
    const ids = [item.value].flat().filter((value) => typeof value === 'string');
    return ids.map((id) => ({ relationTo, id }));
  });
}

function shortened(text: string): string {
  return text.length > mostLetters ? `${text.slice(0, mostLetters)}…` : text;
}
