import { type DataField, labelOf } from '../../../schema/fields.ts';
import { BlameNote } from '../facts/blame.tsx';
import { controlId, useFormPlace, useFormState } from '../form/context.ts';
import styles from './fields.module.css';
import { ErrorText } from './frame.tsx';

/** An object: its fields below its name. */
export function ObjectField({ field, path }: { field: DataField; path: string }) {
  const place = useFormPlace();
  const error = useFormState((form) => form.problemAt(path));
  const { Level } = place;
  const id = controlId(place, path);
  return (
    <fieldset className={styles.group} data-field={path} data-invalid={error !== undefined || undefined}>
      <legend>
        <span>{labelOf(field)}</span>
        <BlameNote path={path} />
      </legend>
      {field.admin?.description !== undefined && <p className={styles.about}>{field.admin.description}</p>}
      <ErrorText id={id} error={error} />
      <Level fields={field.fields ?? []} prefix={`${path}.`} />
    </fieldset>
  );
}
