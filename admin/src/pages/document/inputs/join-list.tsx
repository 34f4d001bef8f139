import { addresses } from '../../../shell/addresses.ts';
import { Link } from '../../../shell/link.tsx';
import { useWords } from '../../../words/index.ts';
import styles from './inputs.module.css';
import type { InputProps } from './types.ts';

/** The documents that point at this one, as links. */
export function JoinList({ field, id, defaultValue }: InputProps<unknown>) {
  const { form } = useWords();
  const ids = Array.isArray(defaultValue) ? defaultValue : [];
  if (ids.length === 0) return <p className={styles.none}>{form.noneYet}</p>;
  return (
    <ul className={styles.links} aria-labelledby={`${id}-label`}>
      {ids.map((one) => {
        const target = typeof one === 'string' ? { id: one, title: one } : titled(one);
        return (
          <li key={target.id}>
            <Link to={addresses.document(field.collection ?? '', target.id)}>{target.title}</Link>
          </li>
        );
      })}
    </ul>
  );
}

function titled(document: { id: string; [field: string]: unknown }): { id: string; title: string } {
  const title = document.title ?? document.name;
  return { id: document.id, title: typeof title === 'string' ? title : document.id };
}
