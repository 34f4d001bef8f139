import { Button, PasswordInput, TextInput } from '@mantine/core';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { ApiError } from '../../../../client/index.ts';
import { inWords } from '../../schema/fields.ts';
import { messageOf } from '../../service/queries.ts';
import styles from './access.module.css';

/** An input of a form before a login. */
export type AccessField = {
  name: string;
  label: string;
  type: 'text' | 'email' | 'password';
  autoComplete?: string;
  hint?: string;
  defaultValue?: string | undefined;
};

type Props = {
  fields: AccessField[];
  button: string;
  send: (values: Record<string, string>) => Promise<void>;
  /** Deals with an error that is about more than the fields, and says whether it did. */
  isDealtWith?: (error: ApiError) => boolean;
};

/**
 * A form of a few fields. If the service names a required field of the collection that is not among them, the form adds
 * it.
 */
export function AccessForm({ fields, button, send, isDealtWith }: Props) {
  const [added, setAdded] = useState<AccessField[]>([]);
  const [problems, setProblems] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const all = [...fields, ...added];
  const firstEmpty = fields.findIndex(({ defaultValue }) => defaultValue === undefined);

  // The first empty field: if the account is known, only the password is asked for.
  useEffect(() => {
    const inputs = [...(form.current?.querySelectorAll('input') ?? [])];
    inputs.find(({ value }) => value === '')?.focus();
  }, []);

  function refuse(error: unknown): void {
    if (error instanceof ApiError && isDealtWith?.(error)) return;
    const errors = error instanceof ApiError ? error.errors : [];
    // A nested field cannot be typed into a line of text.
    const shown = errors.filter(({ field }) => !field.includes('.'));
    const fresh = shown.filter(({ field }) => !all.some(({ name }) => name === field));
    setAdded([
      ...added,
      ...fresh.map(({ field }): AccessField => ({ name: field, label: inWords(field), type: 'text' })),
    ]);
    setProblems(Object.fromEntries(shown.map(({ field, message }) => [field, message])));
    const rest = errors.filter((one) => !shown.includes(one));
    setProblem(shown.length > 0 ? rest.map(({ message }) => message).join('\n') : messageOf(error));
    const first = shown[0]?.field ?? fields.at(-1)?.name;
    setTimeout(() => (form.current?.elements.namedItem(first ?? '') as HTMLElement | null)?.focus());
  }

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const entries = [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value)] as const);
    setBusy(true);
    setProblems({});
    setProblem('');
    await send(Object.fromEntries(entries.filter(([, value]) => value !== ''))).catch(refuse);
    setBusy(false);
  };

  return (
    <form className={styles.form} onSubmit={submit} ref={form}>
      {all.map(({ hint, type, ...field }, place) => {
        const shared = {
          ...field,
          description: hint,
          error: problems[field.name],
          required: true,
          withAsterisk: false,
          // A dialog gives the focus to the element with this attribute.
          'data-autofocus': place === firstEmpty || undefined,
        };
        return type === 'password' ? (
          <PasswordInput key={field.name} {...shared} />
        ) : (
          <TextInput key={field.name} {...shared} type={type} />
        );
      })}
      <p role="alert" className={styles.problem}>
        {problem}
      </p>
      <Button type="submit" loading={isBusy}>
        {button}
      </Button>
    </form>
  );
}
