import { type ReactNode, useEffect } from 'react';
import { Link } from 'wouter';
import { addresses } from '../../shell/addresses.ts';
import { addressOf } from '../../shell/link.tsx';
import { useWords } from '../../words/index.ts';
import styles from './access.module.css';

/** The card of a page before the login. */
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

/** The link back to the login. */
export function ToLogin() {
  const { access } = useWords();
  return (
    <p className={styles.below}>
      <Link href={addressOf(addresses.login)}>{access.toLogin}</Link>
    </p>
  );
}
