import { Switch } from '@mantine/core';
import { useWords } from '../../../words/index.ts';
import { attributesOf } from './attributes.ts';
import { Radios } from './choice-inputs.tsx';
import type { InputProps } from './types.ts';

/** A switch for yes and no; for an optional field without a default, a choice of yes, no and no value. */
export function BooleanInput(props: InputProps<unknown>) {
  const { field, defaultValue, onChange } = props;
  const { shared, form } = useWords();
  if (field.required || (defaultValue !== null && field.hasDefault)) {
    const { placeholder: _, ...attributes } = attributesOf(props);
    return (
      <Switch
        {...attributes}
        defaultChecked={defaultValue === true}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        withThumbIndicator={false}
      />
    );
  }
  return (
    <Radios
      {...props}
      defaultValue={typeof defaultValue === 'boolean' ? String(defaultValue) : ''}
      options={[
        { value: 'true', label: shared.yes },
        { value: 'false', label: shared.no },
        { value: '', label: form.noValue },
      ]}
      onChange={(value) => onChange(value === '' ? null : value === 'true')}
    />
  );
}
