import { NativeSelect } from '@mantine/core';
import { useState } from 'react';
import type { Boot } from '../../../../client/index.ts';
import { inWords } from '../../schema/fields.ts';
import { logIn, loginCollection } from '../../service/session.ts';
import { useWords } from '../../words/index.ts';
import styles from './access.module.css';
import { AccessForm } from './access-form.tsx';

type Props = {
  boot: Boot;
  /** The account that was logged in before. */
  last?: { collection: string; email: string };
};

/** The form of a login, with a choice of the collection if several have accounts. */
export function LoginForm({ boot, last }: Props) {
  const { access } = useWords();
  const [collection, setCollection] = useState(last?.collection ?? loginCollection(boot));
  if (collection === null) return <p>{access.noCollectionText}</p>;
  return (
    <>
      {boot.authCollections.length > 1 && (
        <NativeSelect
          className={styles.form}
          label={access.account}
          value={collection}
          onChange={(event) => setCollection(event.currentTarget.value)}
          data={boot.authCollections.map(({ slug, labels }) => ({
            value: slug,
            label: labels?.singular ?? inWords(slug),
          }))}
        />
      )}
      <AccessForm
        fields={[
          { name: 'email', type: 'email', label: access.email, autoComplete: 'username', defaultValue: last?.email },
          { name: 'password', type: 'password', label: access.password, autoComplete: 'current-password' },
        ]}
        button={access.logIn}
        send={({ email = '', password = '' }) => logIn(collection, { email, password })}
      />
    </>
  );
}
