import type { ReactNode } from 'react';
import { type DataField, labelOf } from '../../../schema/fields.ts';
import { useWords } from '../../../words/index.ts';
import { BlameNote } from '../facts/blame.tsx';
import { controlId, useFormPlace, useFormState } from '../form/context.ts';
import styles from './fields.module.css';

type Props = {
  field: DataField;
  path: string;
  children: (control: { id: string; error: string | undefined; describedBy: string | undefined }) => ReactNode;
};

/** The surroundings of an input: label, description, problem. */
export function Frame({ field, path, children }: Props) {
  const place = useFormPlace();
  const { form: words } = useWords();
  // The service names the item of a list that is wrong.
  const isList = field.hasMany || field.type === 'multiSelect';
  const error = useFormState((form) => form.problemAt(path) ?? (isList ? form.problemIn(path) : undefined));
  const id = controlId(place, path);
  const description = field.admin?.description;
  const described = [error !== undefined && `${id}-error`, description !== undefined && `${id}-about`].filter(Boolean);
  // The label of a switch comes before it.
  const isInline = field.type === 'boolean' && field.required === true;
  return (
    <div className={styles.frame} data-field={path} data-invalid={error !== undefined || undefined}>
      <div className={isInline ? styles.inline : styles.stacked}>
        <div className={styles.labels}>
          {hasOneControl(field) ? (
            <label id={`${id}-label`} htmlFor={id}>
              {labelOf(field)}
            </label>
          ) : (
            <span id={`${id}-label`} className={styles.label}>
              {labelOf(field)}
            </span>
          )}
          {field.required && field.type !== 'boolean' && (
            <span className={styles.required} title={words.required} aria-hidden="true">
              *
            </span>
          )}
          <BlameNote path={path} />
        </div>
        {children({ id, error, describedBy: described.length > 0 ? described.join(' ') : undefined })}
      </div>
      <ErrorText id={id} error={error} />
      {description !== undefined && (
        <p id={`${id}-about`} className={styles.about}>
          {description}
        </p>
      )}
    </div>
  );
}

/** The problem of a field. */
export function ErrorText({ id, error }: { id: string; error: string | undefined }) {
  if (error === undefined) return null;
  return (
    <p id={`${id}-error`} className={styles.error}>
      {error}
    </p>
  );
}

/** Whether a field has one control. A group of controls is labelled by reference. */
function hasOneControl({ type, required, hasDefault }: DataField): boolean {
  if (type === 'boolean') return required === true || hasDefault === true;
  return !['radio', 'multiSelect', 'join'].includes(type);
}
