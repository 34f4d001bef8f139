import { Checkbox, NativeSelect, Radio } from '@mantine/core';
import { useWords } from '../../../words/index.ts';
import { attributesOf } from './attributes.ts';
import styles from './inputs.module.css';
import type { InputProps } from './types.ts';

/** A select of one option. The browser's own control works with every keyboard and on every phone. */
export function SelectInput(props: InputProps<unknown>) {
  const { field, defaultValue, onChange } = props;
  const { form } = useWords();
  const { placeholder, ...attributes } = attributesOf(props);
  const value = typeof defaultValue === 'string' ? defaultValue : '';
  return (
    <NativeSelect
      {...attributes}
      defaultValue={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value || null)}
    >
      {(!field.required || value === '') && <option value="">{placeholder ?? form.choose}</option>}
      {optionsOf(props).map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </NativeSelect>
  );
}

/** The options, and the chosen value if it is no longer among them. */
function optionsOf({ field, defaultValue }: InputProps<unknown>): { label: string; value: string }[] {
  const options = field.options ?? [];
  const chosen = (Array.isArray(defaultValue) ? defaultValue : [defaultValue]).filter(
    (one) => typeof one === 'string' && one !== '',
  );
  const gone = chosen.filter((value) => !options.some((option) => option.value === value));
  return [...options, ...gone.map((value) => ({ label: value, value }))];
}

/** A choice of one option by radio buttons. */
export function RadioInput(props: InputProps<unknown>) {
  const { field, defaultValue, onChange } = props;
  const { form } = useWords();
  const none = field.required ? [] : [{ value: '', label: form.noValue }];
  return (
    <Radios
      {...props}
      defaultValue={typeof defaultValue === 'string' ? defaultValue : ''}
      options={[...optionsOf(props), ...none]}
      onChange={(value) => onChange(value || null)}
    />
  );
}

type RadiosProps = Omit<InputProps<unknown>, 'defaultValue' | 'onChange'> & {
  defaultValue: string;
  options: readonly { label: string; value: string }[];
  onChange: (value: string) => void;
};

/** A group of radio buttons. */
export function Radios({ id, path, defaultValue, options, onChange, isDisabled, error, describedBy }: RadiosProps) {
  return (
    <Radio.Group
      id={id}
      name={path}
      defaultValue={defaultValue}
      onChange={onChange}
      aria-labelledby={`${id}-label`}
      aria-describedby={describedBy}
    >
      <div className={styles.choices}>
        {options.map(({ value, label }) => (
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

/** A choice of several options. */
export function MultiSelectInput(props: InputProps<unknown>) {
  const { id, path, defaultValue, onChange, isDisabled, error, describedBy } = props;
  return (
    <Checkbox.Group
      id={id}
      defaultValue={Array.isArray(defaultValue) ? defaultValue.map(String) : []}
      onChange={onChange}
      aria-labelledby={`${id}-label`}
      aria-describedby={describedBy}
    >
      <div className={styles.choices}>
        {optionsOf(props).map(({ value, label }) => (
          <Checkbox
            key={value}
            name={path}
            value={value}
            label={label}
            disabled={isDisabled}
            aria-invalid={error !== undefined || undefined}
          />
        ))}
      </div>
    </Checkbox.Group>
  );
}
