import { Progress } from '@mantine/core';
import { useState } from 'react';
import { Confirm } from '../../../parts/confirm.tsx';
import { tell } from '../../../parts/toast.ts';
import type { Collection } from '../../../schema/model.ts';
import { client } from '../../../service/client.ts';
import { forget, messageOf, type Reading, useRead } from '../../../service/queries.ts';
import { useWords } from '../../../words/index.ts';
import styles from '../media.module.css';

type Props = {
  collection: Collection;
  ids: readonly string[];
  onClose: () => void;
  onDeleted: (ids: string[]) => void;
};

/** Asks before files are deleted. They are deleted one after the other, because bulk calls do not take files. */
export function Deletion({ collection, ids, onClose, onDeleted }: Props) {
  const { media } = useWords();
  const [asked] = useState(ids);
  const [count, setCount] = useState(0);
  const used = useUsed(collection.slug, asked, count === 0);
  const files = client.collection(collection.slug);
  const confirm = async (options: { reason?: string }) => {
    const deleted: string[] = [];
    let failure: unknown;
    for (const id of asked) {
      try {
        await files.delete(id, options);
        deleted.push(id);
      } catch (error) {
        failure ??= error;
      }
      setCount((now) => now + 1);
    }
    await forget(collection.slug);
    onDeleted(deleted);
    if (deleted.length > 0) tell(media.deleted(deleted.length));
    const left = asked.length - deleted.length;
    if (failure !== undefined) throw new Error(`${media.stillThere(left)}: ${messageOf(failure)}`);
  };
  return (
    <Confirm
      title={media.deleteMany(asked.length)}
      button={media.deleteSelected}
      isDangerous
      reason={collection.requireReason ? 'required' : 'optional'}
      onClose={onClose}
      confirm={confirm}
    >
      <p>{media.deleteText}</p>
      {used !== undefined && used > 0 && (
        <p className={styles.warning}>{asked.length === 1 ? media.usedWarning(used) : media.usedAmong(used)}</p>
      )}
      {count > 0 && (
        <div role="status">
          <Progress value={(count / asked.length) * 100} aria-label={media.deleting(count, asked.length)} />
          <small>{media.deleting(count, asked.length)}</small>
        </div>
      )}
    </Confirm>
  );
}

/** For one file, the number of places that point at it; for several, the number of files that are pointed at. */
function useUsed(slug: string, ids: readonly string[], isThere: boolean): number | undefined {
  const read = async (reading: Reading) => {
    const files = client.collection(slug);
    const totals = await Promise.all(
      ids.map(async (id) => (await files.references(id, { ...reading, limit: 1 })).total),
    );
    return totals.length === 1 ? totals[0] : totals.filter((total) => total > 0).length;
  };
  return useRead(['references', slug, { used: ids }], read, { enabled: isThere }).data;
}
