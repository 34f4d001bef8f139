import { type ReactNode, useId } from 'react';
import styles from './panel.module.css';

/** The styles for the content of a panel: rows, soft and empty texts. */
export const panelStyles = styles;

/** A part of a page with a heading of its own. */
export function Panel({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  const id = useId();
  return (
    <section className={styles.panel} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {actions}
      </header>
      {children}
    </section>
  );
}
