import { StatusMark } from '../../../parts/status.tsx';
import { type Formatters, textOfValue } from '../../../parts/texts.ts';
import { Ago } from '../../../parts/times.tsx';
import { valueAt } from '../../../schema/fields.ts';
import { Icon } from '../../../theme/icons.tsx';
import type { Column } from '../view/columns.ts';
import type { Row } from '../view/use-list.ts';
import { statuses } from '../view/view.ts';
import styles from './cell.module.css';
import { Thumbnail } from './thumbnail.tsx';

/** The value of a row in a column. */
export function Cell({ row, column, formatters }: { row: Row; column: Column; formatters: Formatters }) {
  const value = valueAt(row, column.path);
  const { field } = column;
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return <Mark isOn={value} formatters={formatters} />;
  if (field.type === 'upload' && typeof value === 'object') return <Thumbnail file={value} />;
  if (column.path === 'updatedAt' || column.path === 'createdAt') return <Ago moment={String(value)} />;
  const status = column.path === '__status' ? statuses.find((one) => one === value) : undefined;
  if (status !== undefined) return <StatusMark status={status} />;
  const text = textOfValue(value, field, formatters);
  if ((field.type === 'select' || field.type === 'radio') && text !== '') {
    return <span className={styles.choice}>{text}</span>;
  }
  return <span title={text.length > 24 ? text : undefined}>{text}</span>;
}

function Mark({ isOn, formatters }: { isOn: boolean; formatters: Formatters }) {
  return (
    <span className={isOn ? styles.on : styles.off} role="img" aria-label={isOn ? formatters.yes : formatters.no}>
      <Icon name={isOn ? 'check' : 'minus'} size={16} />
    </span>
  );
}

/** Whether the values of a column are aligned to the right. */
export function isNumeric({ field }: Column): boolean {
  return field.type === 'number';
}
