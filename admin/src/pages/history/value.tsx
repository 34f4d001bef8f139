import { VisuallyHidden } from '@mantine/core';
import { useWords } from '../../words/index.ts';
import styles from './history.module.css';
import type { DisplayValue, ValueDifference } from './values.ts';

type Props = { difference: ValueDifference; titles: ReadonlyMap<string, string> };

/** The difference of a value: words, items, or the value before and after. */
export function Difference({ difference, titles }: Props) {
  const { history } = useWords();
  if (difference.kind === 'text') {
    return (
      <p className={styles.text}>
        {difference.pieces.map(({ kind, text }, index) => {
          const key = `${index}`;
          if (kind === 'removed') return <del key={key}>{text}</del>;
          return kind === 'added' ? <ins key={key}>{text}</ins> : <span key={key}>{text}</span>;
        })}
      </p>
    );
  }
  if (difference.kind === 'list') {
    return (
      <ul className={styles.items}>
        {difference.items.map(({ kind, value }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: items have no other name, and do not move
          <li key={index} className={styles[kind]}>
            {kind !== 'same' && <span className={styles.sign}>{history.list[kind]}</span>}
            <Value value={value} titles={titles} />
          </li>
        ))}
      </ul>
    );
  }
  if (difference.kind === 'fields') {
    return (
      <dl className={styles.nested}>
        {difference.fields.map((field) => (
          <div key={field.label}>
            <dt>{field.label}</dt>
            <dd>
              <Difference difference={field.difference} titles={titles} />
            </dd>
          </div>
        ))}
      </dl>
    );
  }
  return (
    <div className={styles.pair}>
      <del>
        <VisuallyHidden>{history.before}: </VisuallyHidden>
        <Value value={difference.before} titles={titles} />
      </del>
      <ins>
        <VisuallyHidden>{history.after}: </VisuallyHidden>
        <Value value={difference.after} titles={titles} />
      </ins>
    </div>
  );
}

type ValueProps = { value: DisplayValue | null; titles: ReadonlyMap<string, string> };

function Value({ value, titles }: ValueProps) {
  const { history } = useWords();
  if (value === null) return <em>{history.empty}</em>;
  if (typeof value === 'string') return <span className={styles.text}>{value}</span>;
  if (Array.isArray(value)) {
    return value.map((part, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a line do not move
      <Value key={index} value={part} titles={titles} />
    ));
  }
  const title = titles.get(`${value.relationTo}/${value.id}`);
  return <span title={value.id}>{title ?? `${value.id} (${history.missing})`}</span>;
}
