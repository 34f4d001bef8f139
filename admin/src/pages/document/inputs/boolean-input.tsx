import { Radio, Switch } from '@mantine/core';
import { useWords } from '../../../words/index.ts';
import { attributesOf } from './attributes.ts';
import styles from './inputs.module.css';
import type { InputProps } from './types.ts';

/** Yes or no; where no value is allowed too, one of three. */
export function BooleanInput(props: InputProps<unknown>) {
  const { field, id, path, defaultValue, onChange, isDisabled, error, describedBy } = props;
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
  const answers = [
    ['true', shared.yes],
    ['false', shared.no],
    ['', form.noValue],
  ] as const;
  return (
    <Radio.Group
      id={id}
      name={path}
      defaultValue={typeof defaultValue === 'boolean' ? String(defaultValue) : ''}
      onChange={(value) => onChange(value === '' ? null : value === 'true')}
      aria-labelledby={`${id}-label`}
      aria-describedby={describedBy}
    >
      <div className={styles.choices}>
        {answers.map(([value, label]) => (
          <Radio
            key={value}
            value={value}
            label={label}
            disabled={isDisabled}
            aria-invalid={error !== undefined || undefined}
          />
        ))}
      </div>
    </Radio.Group>
  );
}
