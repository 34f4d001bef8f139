import { useRef, useState } from 'react';
import { rangeOf } from './range.ts';

/** A chosen document, by what it is called. */
export type Chosen = ReadonlyMap<string, string>;

/** The rows that are selected, and the acts that change them. */
export type Selection = {
  chosen: Chosen;
  /** Chooses a row or lets it go; with `range`, all rows from the last one on. */
  toggle: (row: Named, rows: readonly Named[], range?: boolean) => void;
  set: (rows: readonly Named[], isChosen: boolean) => void;
  clear: () => void;
};

/** A row and the words that it is called by. */
export type Named = { id: string; title: string };

/**
 * The chosen rows of a list. They stay from page to page; other filters let them go, for what is not seen is not meant.
 */
export function useSelection(about: string): Selection {
  const [state, setState] = useState<{ about: string; chosen: Chosen }>({ about, chosen: new Map() });
  const last = useRef<string | null>(null);
  const chosen: Chosen = state.about === about ? state.chosen : new Map();
  const put = (next: Chosen) => setState({ about, chosen: next });
  const set = (rows: readonly Named[], isChosen: boolean) => {
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
