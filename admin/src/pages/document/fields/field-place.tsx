import { memo, useState } from 'react';
import type { DataField } from '../../../schema/fields.ts';
import { matches } from '../form/condition.ts';
import { type FormPlace, useFormPlace, useFormState } from '../form/context.ts';
import { isObject, type Values } from '../form/values.ts';
import styles from './fields.module.css';
import { Frame } from './frame.tsx';
import { inputOf } from './inputs.tsx';
import { ListField } from './list-field.tsx';
import { ObjectField } from './object-field.tsx';

type Props = { field: DataField; path: string };

/** A field where it stands in the form, while it is to be seen. */
export const FieldPlace = memo(function FieldPlace({ field, path }: Props) {
  const place = useFormPlace();
  const condition = field.admin?.condition;
  const isMet = useFormState((form) => condition === undefined || matches(condition, scopeOf(form.values(), path)));
  // Set from outside, a field is made anew; those inside of it come along.
  const epoch = useFormState((form) => (path.includes('.') ? 0 : form.epochOf(path)));
  if (!isMet || isHidden(field, place)) return null;
  const width = field.admin?.width;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it hears only that the focus leaves what is in it
    <div
      className={styles.place}
      data-width={width}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (!path.includes('.') && !currentTarget.contains(relatedTarget)) place.form.leave(path);
      }}
    >
      <Content key={epoch} field={field} path={path} />
    </div>
  );
}, isSamePlace);

/** The fields of a schema stay; only a path changes, when an item is moved. */
function isSamePlace(before: Props, after: Props): boolean {
  return before.path === after.path && before.field.name === after.field.name;
}

function Content({ field, path }: Props) {
  const place = useFormPlace();
  const isDisabled = isLocked(field, place);
  if (field.type === 'object') return <ObjectField field={field} path={path} />;
  if (field.type === 'array' || field.type === 'blocks')
    return <ListField field={field} path={path} isDisabled={isDisabled} />;
  return <Input field={field} path={path} isDisabled={isDisabled} />;
}

function Input({ field, path, isDisabled }: Props & { isDisabled: boolean }) {
  const { form } = useFormPlace();
  const [defaultValue] = useState(() => form.get(path) ?? null);
  const Control = inputOf(field);
  return (
    <Frame field={field} path={path}>
      {({ id, error, describedBy }) => (
        <Control
          field={field}
          path={path}
          id={id}
          defaultValue={defaultValue}
          onChange={(value) => form.set(path, value)}
          isDisabled={isDisabled}
          error={error}
          describedBy={describedBy}
        />
      )}
    </Frame>
  );
}

function isHidden({ admin, access, type }: DataField, { isNew }: FormPlace): boolean {
  if (admin?.hidden || (isNew && type === 'join')) return true;
  return access?.read === false && !(isNew && access.create);
}

/** Whether a field cannot be written here. */
function isLocked({ admin, access, type }: DataField, { isNew, isReadOnly }: FormPlace): boolean {
  if (isReadOnly || admin?.readOnly || type === 'join') return true;
  return (isNew ? access?.create : access?.update) === false;
}

/**
 * The values that a condition at a path looks at: those of the document, and before them those of the levels that it is
 * in.
 */
function scopeOf(values: Values, path: string): Values {
  if (!path.includes('.')) return values;
  let scope = values;
  let level: unknown = values;
  for (const part of path.split('.').slice(0, -1)) {
    level = (level as Values | undefined)?.[part];
    if (isObject(level)) scope = { ...scope, ...level };
  }
  return scope;
}
