import { Button, CloseButton } from '@mantine/core';
import { useState } from 'react';
import { tellError } from '../../../parts/toast.ts';
import { client } from '../../../service/client.ts';
import { Icon } from '../../../theme/icons.tsx';
import { useLanguage, useWords } from '../../../words/index.ts';
import { type ListState, requestOf } from '../view/use-list.ts';
import { useRowTitle } from '../view/use-row-title.ts';
import styles from './bulk.module.css';
import { BulkDialog } from './bulk-dialog.tsx';
import type { Selection, TitledRow } from './use-selection.ts';

/** The most documents that the service changes in one call. */
const mostAtOnce = 1_000;

type Props = { state: ListState; selection: Selection; total: number };

/** The actions for the documents that are selected. */
export function BulkBar({ state, selection, total }: Props) {
  const { list } = useWords();
  const language = useLanguage();
  const { access } = state.collection;
  const [doing, setDoing] = useState<'change' | 'delete' | null>(null);
  const all = useAllThatMatch(state);
  const count = selection.chosen.size;
  if (count === 0) return null;
  const selectAll = async () => selection.set(await all.read(), true);
  return (
    <section className={styles.bar} aria-label={list.bulkActions}>
      <CloseButton size={24} aria-label={list.clearSelection} title={list.clearSelection} onClick={selection.clear} />
      <strong role="status">{list.selected(count)}</strong>
      {count < total &&
        (total <= mostAtOnce ? (
          <Button variant="subtle" size="xs" loading={all.isReading} onClick={() => void selectAll()}>
            {list.selectAll(total.toLocaleString(language))}
          </Button>
        ) : (
          <span className={styles.soft}>{list.tooMany(total.toLocaleString(language))}</span>
        ))}
      <span className={styles.space} />
      {access.update && (
        <Button variant="default" size="xs" disabled={count > mostAtOnce} onClick={() => setDoing('change')}>
          {list.changeField}
        </Button>
      )}
      {access.delete && (
        <Button
          variant="light"
          color="red"
          size="xs"
          disabled={count > mostAtOnce}
          leftSection={<Icon name="trash" size={14} />}
          onClick={() => setDoing('delete')}
        >
          {list.deleteMany(count)}
        </Button>
      )}
      <BulkDialog doing={doing} {...{ state, selection }} close={() => setDoing(null)} />
    </section>
  );
}

/**
 * Reads the ids and titles of all documents that match the filter, so that the selection does not change with writes
 * that come meanwhile.
 */
function useAllThatMatch(state: ListState) {
  const titleOf = useRowTitle(state.collection);
  const [isReading, setReading] = useState(false);
  const read = async (): Promise<TitledRow[]> => {
    setReading(true);
    try {
      const query = requestOf({ ...state, columns: [] });
      const found: TitledRow[] = [];
      for await (const row of client.collection(state.collection.slug).findAll(query)) {
        found.push({ id: row.id, title: titleOf(row) });
        if (found.length >= mostAtOnce) break;
      }
      return found;
    } catch (error) {
      tellError(error);
      return [];
    } finally {
      setReading(false);
    }
  };
  return { isReading, read };
}
