import { Textarea } from '@mantine/core';
import { useEffect } from 'react';
import { messageOf } from '../../../service/queries.ts';
import { useWords } from '../../../words/index.ts';
import { useFormPlace } from '../form/context.ts';
import { isUnparsed, unparsed } from '../form/values.ts';
import { attributesOf } from './attributes.ts';
import styles from './inputs.module.css';
import type { InputProps } from './types.ts';

/** Any JSON, as text. Text that is not JSON yet is kept as text, and is not sent. */
export function JsonInput(props: InputProps<unknown>) {
  const { field, path, defaultValue, onChange } = props;
  const { form } = useFormPlace();
  const { form: words } = useWords();
  // Restored unsaved changes may hold text that is not JSON yet.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the initial text
  useEffect(() => {
    if (!isUnparsed(defaultValue)) return;
    form.setLocalProblem(path, words.notJson(parsed(jsonText(defaultValue)).problem ?? ''));
  }, []);
  return (
    <Textarea
      {...attributesOf(props)}
      classNames={{ input: styles.code }}
      rows={field.admin?.rows ?? 6}
      resize="vertical"
      defaultValue={jsonText(defaultValue)}
      onChange={({ currentTarget }) => {
        const { value } = currentTarget;
        const read = parsed(value);
        onChange(read.value);
        form.setLocalProblem(path, read.problem === null ? undefined : words.notJson(read.problem));
      }}
      spellCheck={false}
    />
  );
}

function jsonText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return isUnparsed(value) ? value['annals:unparsed'] : JSON.stringify(value, null, 2);
}

function parsed(text: string): { value: unknown; problem: string | null } {
  if (text.trim() === '') return { value: null, problem: null };
  try {
    return { value: JSON.parse(text), problem: null };
  } catch (error) {
    return { value: unparsed(text), problem: messageOf(error) };
  }
}
