import { TextInput } from '@mantine/core';
import { attributesOf } from './attributes.ts';
import { textOf } from './text-inputs.tsx';
import type { InputProps } from './types.ts';

/** The ids of related documents, as text. */
export function RelationshipInput(props: InputProps<unknown>) {
  const { field, defaultValue, onChange } = props;
  const ids = (text: string) => text.split(/[\s,]+/).filter(Boolean);
  return (
    <TextInput
      {...attributesOf(props)}
      defaultValue={Array.isArray(defaultValue) ? defaultValue.join(', ') : textOf(defaultValue)}
      onChange={({ currentTarget }) => onChange(field.hasMany ? ids(currentTarget.value) : currentTarget.value || null)}
    />
  );
}
