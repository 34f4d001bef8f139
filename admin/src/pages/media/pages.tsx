import { Button } from '@mantine/core';
import { Icon } from '../../theme/icons.tsx';
import { useWords } from '../../words/index.ts';
import styles from './library.module.css';

type Props = { page: number; pages: number; onPage: (page: number) => void };

/** The way through the pages of a list; nothing where there is one page only. */
export function Pages({ page, pages, onPage }: Props) {
  const { media } = useWords();
  if (pages <= 1) return null;
  const step = (by: number, label: string, isOff: boolean) => (
    <Button variant="default" size="xs" aria-label={label} disabled={isOff} onClick={() => onPage(page + by)}>
      <Icon name={by < 0 ? 'left' : 'right'} size={16} />
    </Button>
  );
  return (
    <nav className={styles.pages} aria-label={media.pages}>
      {step(-1, media.before, page <= 1)}
      <span>{media.pageOf(page, pages)}</span>
      {step(1, media.next, page >= pages)}
    </nav>
  );
}
