import { Button } from '@mantine/core';
import { Icon } from '../theme/icons.tsx';
import { useWords } from '../words/index.ts';
import styles from './pager.module.css';

/** The buttons to the other pages of a list; nothing if there is only one page. */
export function Pager({ page, pages, setPage }: { page: number; pages: number; setPage: (page: number) => void }) {
  const { shared } = useWords();
  if (pages <= 1) return null;
  return (
    <nav className={styles.pager} aria-label={shared.pages}>
      <Button variant="default" size="compact-sm" disabled={page <= 1} onClick={() => setPage(page - 1)}>
        <Icon name="left" size={16} />
        {shared.previous}
      </Button>
      <span>{shared.pageOf(page, pages)}</span>
      <Button variant="default" size="compact-sm" disabled={page >= pages} onClick={() => setPage(page + 1)}>
        {shared.next}
        <Icon name="right" size={16} />
      </Button>
    </nav>
  );
}
