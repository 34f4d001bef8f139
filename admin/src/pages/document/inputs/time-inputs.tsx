import { TextInput } from '@mantine/core';
import { momentAt, wallClock, zoneName } from '../../../parts/wall-clock.ts';
import { useWords } from '../../../words/index.ts';
import { useFormPlace } from '../form/context.ts';
import { attributesOf } from './attributes.ts';
import styles from './inputs.module.css';
import { textOf } from './text-inputs.tsx';
import type { InputProps } from './types.ts';

/**
 * A day, a time of day, or a moment, in the browser's own control. A moment is typed in the time zone of the browser,
 * which is shown.
 */
export function TimeInput(props: InputProps<unknown>) {
  const { field, path, defaultValue, onChange } = props;
  const { form } = useFormPlace();
  const { form: words } = useWords();
  const isMoment = field.type === 'datetime';
  const text = textOf(defaultValue);
  const input = (
    <TextInput
      {...attributesOf(props)}
      type={isMoment ? 'datetime-local' : field.type}
      step={field.type === 'time' && /:\d\d:/.test(text) ? 1 : undefined}
      defaultValue={isMoment ? wallClock(text) : text}
      onChange={({ currentTarget }) => {
        const { value, validity } = currentTarget;
        onChange(isMoment ? momentAt(value) : value || null);
        form.setLocalProblem(path, validity.badInput ? words.notComplete : undefined);
      }}
    />
  );
  if (!isMoment) return input;
  return (
    <>
      {input}
      <p className={styles.zone}>{words.inZone(zoneName())}</p>
    </>
  );
}
