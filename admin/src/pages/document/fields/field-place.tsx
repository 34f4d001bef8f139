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

/** A field at its place in the form, unless it is hidden. */
export const FieldPlace = memo(function FieldPlace({ field, path }: Props) {
  const place = useFormPlace();
  const condition = field.admin?.condition;
  const isMet = useFormState((form) => condition === undefined || matches(condition, scopeOf(form.values(), path)));
  // A field that is set from outside is mounted anew, with the fields inside it.
  const epoch = useFormState((form) => (path.includes('.') ? 0 : form.epochOf(path)));
  if (!isMet || isHidden(field, place)) return null;
  const width = field.admin?.width;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only notices that the focus leaves its content
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

/** The fields of a schema do not change; a path changes when an item is moved. */
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

/** Whether the user cannot write a field here. */
function isLocked({ admin, access, type }: DataField, { isNew, isReadOnly }: FormPlace): boolean {
  if (isReadOnly || admin?.readOnly || type === 'join') return true;
  return (isNew ? access?.create : access?.update) === false;
}

/**
 * The values that a condition at a path looks at: those of the document, overlaid with those of the levels that contain
 * the field.
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
