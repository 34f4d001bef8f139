import { TextInput } from '@mantine/core';
import { useWords } from '../../../words/index.ts';
import { useFormPlace } from '../form/context.ts';
import { attributesOf } from './attributes.ts';
import { textOf } from './text-inputs.tsx';
import type { InputProps } from './types.ts';

/** A number. The browser's own control brings the phone's number keyboard, and steps by the arrow keys. */
export function NumberInput(props: InputProps<unknown>) {
  const { field, path, defaultValue, onChange } = props;
  const { form } = useFormPlace();
  const { form: words } = useWords();
  return (
    <TextInput
      {...attributesOf(props)}
      type="number"
      inputMode={field.integer ? 'numeric' : 'decimal'}
      min={field.min}
      max={field.max}
      step={field.admin?.step ?? (field.integer ? 1 : 'any')}
      defaultValue={textOf(defaultValue)}
      onChange={({ currentTarget }) => {
        const { value, validity } = currentTarget;
        onChange(value === '' ? null : Number(value));
        form.setLocalProblem(path, validity.badInput ? words.notANumber : undefined);
      }}
      // The wheel would change the number instead of scrolling the page.
      onWheel={({ currentTarget }) => currentTarget.blur()}
    />
  );
}
