import { useRef, useState } from 'react';
import { rangeOf } from './range.ts';

/** The titles of the selected documents, by id. */
export type SelectedTitles = ReadonlyMap<string, string>;

/** The selected rows, and the functions that change the selection. */
export type Selection = {
  chosen: SelectedTitles;
  /** Selects a row or deselects it; with `range`, selects all rows from the last one to this. */
  toggle: (row: TitledRow, rows: readonly TitledRow[], range?: boolean) => void;
  set: (rows: readonly TitledRow[], isChosen: boolean) => void;
  clear: () => void;
};

/** A row, by id and title. */
export type TitledRow = { id: string; title: string };

/**
 * The selection of a list. It stays from page to page; another filter clears it, because the user would no longer see
 * the selected rows.
 */
export function useSelection(about: string): Selection {
  const [state, setState] = useState<{ about: string; chosen: SelectedTitles }>({ about, chosen: new Map() });
  const last = useRef<string | null>(null);
  const chosen: SelectedTitles = state.about === about ? state.chosen : new Map();
  const put = (next: SelectedTitles) => setState({ about, chosen: next });
  const set = (rows: readonly TitledRow[], isChosen: boolean) => {
    const next = new Map(chosen);
    for (const { id, title } of rows) {
      if (isChosen) next.set(id, title);
      else next.delete(id);
    }
    put(next);
  };
  return {
    chosen,
    toggle: (row, rows, range = false) => {
      set(range ? rangeOf(rows, last.current, row.id) : [row], !chosen.has(row.id));
      last.current = row.id;
    },
    set,
    clear: () => put(new Map()),
  };
}
