import { ActionIcon, Textarea, TextInput, Tooltip } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Icon } from '../../../theme/icons.tsx';
import { useWords } from '../../../words/index.ts';
import { useFormPlace, useFormState } from '../form/context.ts';
import { slugOf } from '../form/slug.ts';
import { attributesOf } from './attributes.ts';
import styles from './inputs.module.css';
import type { InputProps } from './types.ts';

/** The field types of one line, with the `inputmode` for the keyboards of phones. */
const kinds = { text: 'text', email: 'email', url: 'url' } as const;

/** A text of one line. */
export function TextLine(props: InputProps<unknown>) {
  const { field, defaultValue, onChange } = props;
  if (field.admin?.displayAs === 'slug') return <SlugInput {...props} />;
  if (field.admin?.displayAs === 'color') return <ColorInput {...props} />;
  const kind = kinds[field.type as keyof typeof kinds] ?? 'text';
  return (
    <TextInput
      {...attributesOf(props)}
      // With `type="email"` or `"url"` the browser would refuse texts that the service allows.
      inputMode={kind}
      defaultValue={textOf(defaultValue)}
      onChange={({ currentTarget }) => onChange(currentTarget.value || null)}
      autoComplete="off"
      spellCheck={field.type === 'text'}
    />
  );
}

/** A text of several lines; code is set in a fixed-width font. */
export function TextArea(props: InputProps<unknown>) {
  const { field, defaultValue, onChange } = props;
  const isCode = field.admin?.language !== undefined;
  return (
    <Textarea
      {...attributesOf(props)}
      classNames={isCode ? { input: styles.code } : undefined}
      rows={field.admin?.rows ?? (isCode ? 8 : 4)}
      resize="vertical"
      defaultValue={textOf(defaultValue)}
      onChange={({ currentTarget }) => onChange(currentTarget.value || null)}
      spellCheck={!isCode}
    />
  );
}

/** The text for a control. A value of another type, from before the field was changed, is shown as JSON. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * A slug. In a new document it follows its source field until the user types it by hand. The slug of an existing
 * document is part of addresses, so it does not follow.
 */
function SlugInput(props: InputProps<unknown>) {
  const { field, path, defaultValue, onChange, isDisabled } = props;
  const { form: words } = useWords();
  const { form, isNew } = useFormPlace();
  const control = useRef<HTMLInputElement>(null);
  const from = field.admin?.from === undefined ? null : besides(path, field.admin.from);
  const source = useFormState(() => (from === null ? '' : textOf(form.get(from))));
  const initial = textOf(defaultValue);
  const [isFollowing, setFollowing] = useState(
    isNew && from !== null && !isDisabled && [slugOf(source), ''].includes(initial),
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the slug follows only a change of its source
  useEffect(() => {
    if (!isFollowing || control.current === null) return;
    const slug = slugOf(source);
    if (control.current.value === slug) return;
    control.current.value = slug;
    onChange(slug || null);
  }, [source, isFollowing]);
  const follow: ReactNode = from !== null && !isFollowing && !isDisabled && (
    <Tooltip label={words.followAgain}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size={24}
        aria-label={words.followAgain}
        onClick={() => setFollowing(true)}
      >
        <Icon name="refresh" size={15} />
      </ActionIcon>
    </Tooltip>
  );
  return (
    <TextInput
      {...attributesOf(props)}
      ref={control}
      classNames={{ input: styles.code }}
      defaultValue={initial}
      onChange={({ currentTarget }) => {
        setFollowing(false);
        onChange(currentTarget.value || null);
      }}
      rightSection={follow}
      autoComplete="off"
      spellCheck={false}
    />
  );
}

/** The path of the field `name` beside the field at a path. */
function besides(path: string, name: string): string {
  return [...path.split('.').slice(0, -1), name].join('.');
}

const hexColor = /^#[\da-f]{6}$/i;

/** A colour, as text and with a colour picker. */
function ColorInput(props: InputProps<unknown>) {
  const { defaultValue, onChange, isDisabled } = props;
  const { form: words } = useWords();
  const control = useRef<HTMLInputElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const initial = textOf(defaultValue);
  return (
    <TextInput
      {...attributesOf(props)}
      ref={control}
      classNames={{ input: styles.code }}
      defaultValue={initial}
      onChange={({ currentTarget }) => {
        const { value } = currentTarget;
        if (picker.current !== null && hexColor.test(value)) picker.current.value = value;
        onChange(value || null);
      }}
      leftSection={
        <input
          ref={picker}
          type="color"
          className={styles.color}
          aria-label={words.pickColor}
          defaultValue={hexColor.test(initial) ? initial : '#000000'}
          disabled={isDisabled}
          onChange={({ currentTarget }) => {
            if (control.current !== null) control.current.value = currentTarget.value;
            onChange(currentTarget.value);
          }}
        />
      }
      autoComplete="off"
      spellCheck={false}
    />
  );
}
