import { Button, PasswordInput, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { messageOf } from '../../service/queries.ts';
import { logIn } from '../../service/session.ts';
import { useWords } from '../../words/index.ts';
import styles from './card.module.css';

/** The fields of a login. An account that is known is not asked for its address again. */
export function LoginForm({ collection, email }: { collection: string; email?: string }) {
  const { access } = useWords();
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    setBusy(true);
    setProblem(null);
    try {
      await logIn(collection, { email: String(data.get('email')), password: String(data.get('password')) });
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <TextInput
        name="email"
        type="email"
        label={access.email}
        defaultValue={email}
        autoComplete="username"
        required
        withAsterisk={false}
        data-autofocus={email === undefined}
      />
      <PasswordInput
        name="password"
        label={access.password}
        autoComplete="current-password"
        required
        withAsterisk={false}
        data-autofocus={email !== undefined}
      />
      <p role="alert" className={styles.problem}>
        {problem}
      </p>
      <Button type="submit" loading={isBusy}>
        {access.logIn}
      </Button>
    </form>
  );
}
