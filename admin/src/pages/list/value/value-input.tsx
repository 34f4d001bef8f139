import { Checkbox, NativeSelect, TextInput } from '@mantine/core';
import { momentAt, wallClock } from '../../../parts/wall-clock.ts';
import type { DataField } from '../../../schema/fields.ts';
import { useWords } from '../../../words/index.ts';
import { takesMany } from '../filter/operators.ts';
import { TargetPicker } from './target-picker.tsx';
import styles from './value-input.module.css';

type Props = {
  field: DataField;
  /** The operator of a filter; without it, the input is for a value of the field itself. */
  operator?: string;
  label: string;
  value: unknown;
  onChange: (value: unknown) => void;
};

/** A simple input for a value of a field. An empty input is null. */
export function ValueInput({ field, operator, label, value, onChange }: Props) {
  const { shared, list } = useWords();
  const isText = (one: unknown): one is string => typeof one === 'string';
  if (operator === 'exists') {
    const data = [
      { value: 'true', label: list.hasValue },
      { value: 'false', label: list.hasNoValue },
    ];
    return <Choice {...{ label, data, onChange: (text) => onChange(text === 'true') }} value={String(value)} />;
  }
  if (field.type === 'boolean') {
    const data = [
      { value: '', label: '' },
      { value: 'true', label: shared.yes },
      { value: 'false', label: shared.no },
    ];
    const set = (text: string) => onChange(text === '' ? null : text === 'true');
    return <Choice {...{ label, data, onChange: set }} value={typeof value === 'boolean' ? String(value) : ''} />;
  }
  if (field.options !== undefined) {
    const isMany = operator === undefined ? field.type === 'multiSelect' : takesMany(operator);
    if (isMany) return <Choices {...{ field, label, onChange }} values={Array.isArray(value) ? value : []} />;
    const data = [{ value: '', label: '' }, ...field.options];
    return (
      <Choice {...{ label, data, onChange: (text) => onChange(text || null) }} value={isText(value) ? value : ''} />
    );
  }
  if (field.relationTo !== undefined) {
    return <TargetPicker slug={field.relationTo} {...{ label, onChange }} value={isText(value) ? value : null} />;
  }
  return <Line {...{ field, label, value, onChange }} />;
}

type ChoiceProps = {
  label: string;
  data: { value: string; label: string }[];
  value: string;
  onChange: (text: string) => void;
};

function Choice({ label, data, value, onChange }: ChoiceProps) {
  return (
    <NativeSelect label={label} data={data} value={value} onChange={(event) => onChange(event.currentTarget.value)} />
  );
}

type ChoicesProps = { field: DataField; label: string; values: unknown[]; onChange: (values: unknown[]) => void };

function Choices({ field, label, values, onChange }: ChoicesProps) {
  return (
    <fieldset className={styles.choices}>
      <legend>{label}</legend>
      {field.options?.map((option) => (
        <Checkbox
          key={option.value}
          size="xs"
          label={option.label}
          checked={values.includes(option.value)}
          onChange={({ currentTarget: { checked } }) => {
            const others = values.filter((value) => value !== option.value);
            onChange(checked ? [...others, option.value] : others);
          }}
        />
      ))}
    </fieldset>
  );
}

const kinds: Partial<Record<DataField['type'], string>> = {
  number: 'number',
  date: 'date',
  time: 'time',
  datetime: 'datetime-local',
};

/** One line: a text, a number, a day, a moment. */
function Line({ field, label, value, onChange }: Omit<Props, 'operator'>) {
  const kind = kinds[field.type] ?? 'text';
  const shown = field.type === 'datetime' && typeof value === 'string' ? wallClock(value) : (value ?? '');
  const read = (text: string): unknown => {
    if (text === '') return null;
    if (field.type === 'number') return Number(text);
    return field.type === 'datetime' ? momentAt(text) : text;
  };
  return (
    <TextInput
      label={label}
      type={kind}
      step={kind === 'number' ? 'any' : undefined}
      value={String(shown)}
      onChange={(event) => onChange(read(event.currentTarget.value))}
    />
  );
}
