import { Button } from '@mantine/core';
import boxed from '../../../parts/boxed.module.css';
import type { Collection } from '../../../schema/model.ts';
import { useWords } from '../../../words/index.ts';
import styles from './sending.module.css';
import { SendingRow } from './sending-row.tsx';
import type { FileSending } from './use-queue.ts';

type Props = {
  queue: readonly FileSending[];
  collection: Collection;
  isReplacement?: boolean;
  retry: (key: number, data: Record<string, string>) => void;
  remove: (key: number) => void;
  clear: () => void;
};

/** The files on their way, and those that have arrived. */
export function Sendings({ queue, clear, ...rest }: Props) {
  const { media } = useWords();
  if (queue.length === 0) return null;
  return (
    <section aria-label={media.sendings} className={styles.section}>
      <ul className={boxed.rows}>
        {queue.map((one) => (
          <SendingRow key={one.key} sending={one} {...rest} />
        ))}
      </ul>
      {queue.some(({ state }) => state === 'sent') && (
        <Button size="compact-sm" variant="subtle" color="gray" onClick={clear}>
          {media.clearDone}
        </Button>
      )}
    </section>
  );
}
