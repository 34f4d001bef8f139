import type { ReactNode } from 'react';
import { useEffect } from 'react';
import styles from './access.module.css';

/** The one card of a page before the login. */
export function Card({ title, above, children }: { title: string; above: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · ${above}`;
  }, [title, above]);
  return (
    <main className={styles.page}>
      <div className={styles.card}>
        <p className={styles.above}>{above}</p>
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  );
}
