import { Loader } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useWords } from '../words/index.ts';
import styles from './loading.module.css';

const milliseconds = 200;

/** The placeholder of a page that is loading: empty for a moment, then with a sign. */
export function Loading() {
  const { shared } = useWords();
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), milliseconds);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className={styles.loading} role="status" aria-label={shared.loading}>
      {isLate && <Loader size="sm" aria-hidden="true" />}
    </div>
  );
}
