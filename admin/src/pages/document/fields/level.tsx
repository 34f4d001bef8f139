import type { LevelProps } from '../form/context.ts';
import { FieldPlace } from './field-place.tsx';
import styles from './fields.module.css';

/**
 * The fields of one level, below each other; the fields of a row, beside each other. `prefix` is the path of the level,
 * with a dot at its end.
 */
export function Level({ fields, prefix = '' }: LevelProps) {
  return (
    <div className={styles.level}>
      {fields.map((field, index) =>
        field.type === 'row' ? (
          // A row has no name, and rows do not move.
          // biome-ignore lint/suspicious/noArrayIndexKey: the fields of a level are always the same
          <div key={`row-${index}`} className={styles.row}>
            {(field.fields ?? []).map((inner) => (
              <FieldPlace
                key={inner.name}
                field={{ ...inner, name: inner.name ?? '' }}
                path={`${prefix}${inner.name}`}
              />
            ))}
          </div>
        ) : (
          <FieldPlace key={field.name} field={{ ...field, name: field.name ?? '' }} path={`${prefix}${field.name}`} />
        ),
      )}
    </div>
  );
}
