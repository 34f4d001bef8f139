import type { Collection } from '../../../schema/model.ts';
import { titleOf } from '../../../schema/titles.ts';
import { useWords } from '../../../words/index.ts';
import type { Row } from './use-list.ts';

const mostLetters = 160;

/** A function that gives the title of a row; an id would say nothing to the user. */
export function useRowTitle(collection: Collection): (row: Row) => string {
  const { list } = useWords();
  return (row) => {
    const title = titleOf(collection, row);
    if (title === row.id) return `${list.noTitle} (${row.id.slice(0, 8)}…)`;
    return title.length > mostLetters ? `${title.slice(0, mostLetters)}…` : title;
  };
}
