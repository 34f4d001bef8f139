import { useId, useRef, useState } from 'react';
import type { DataField } from '../../../schema/fields.ts';
import { useFormPlace } from '../form/context.ts';
import { itemFields, newItem } from '../form/values.ts';

/** The items of a list: each has a key that stays with it wherever it is moved. */
export type Items = ReturnType<typeof useItems>;

/** The items of a list in the form, and the functions that change them. */
export function useItems(field: DataField, path: string) {
  const { form } = useFormPlace();
  const listKey = useId();
  const next = useRef(0);
  const [keys, setKeys] = useState(() => valuesOf(form.get(path)).map(() => newKey()));

  function newKey(): string {
    next.current += 1;
    return `${listKey}-${next.current}`;
  }

  /** Changes the values and the keys in the same way. */
  function change(edit: <Item>(list: Item[], made: () => Item) => Item[], value?: unknown): void {
    const values = valuesOf(form.get(path));
    form.clearProblemsIn(path);
    form.set(
      path,
      edit<unknown>([...values], () => value),
    );
    const key = newKey();
    setKeys((old) => edit<string>([...old], () => key));
  }

  return {
    listKey,
    keys,
    add(blockType?: string): void {
      const fields = itemFields(field, { blockType }) ?? [];
      change((list, made) => [...list, made()], newItem(fields, blockType));
      focusItem(path, keys.length);
    },
    remove(index: number): void {
      change((list) => list.toSpliced(index, 1));
      focusItem(path, Math.min(index, keys.length - 2));
    },
    duplicate(index: number): void {
      const value = structuredClone(valuesOf(form.get(path))[index]);
      change((list, made) => list.toSpliced(index + 1, 0, made()), value);
      focusItem(path, index + 1);
    },
    move(from: number, to: number): void {
      if (from === to || to < 0 || to >= keys.length) return;
      change((list) => {
        const [item] = list.splice(from, 1);
        return item === undefined ? list : list.toSpliced(to, 0, item);
      });
    },
  };
}

function valuesOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Puts the focus on an item once it is mounted; on the button that adds an item if the list is empty. */
function focusItem(path: string, index: number): void {
  requestAnimationFrame(() => {
    const list = document.querySelector(`[data-field="${CSS.escape(path)}"]`);
    const item = list?.querySelector<HTMLElement>(`[data-item="${CSS.escape(`${path}.${index}`)}"] [data-fold]`);
    (item ?? list?.querySelector<HTMLElement>(':scope > button'))?.focus();
  });
}
