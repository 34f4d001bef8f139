import { useState } from 'react';
import { Link } from 'wouter';
import type { Boot } from '../../../../client/index.ts';
import { client } from '../../service/client.ts';
import { loginCollection } from '../../service/session.ts';
import { addresses } from '../../shell/addresses.ts';
import { addressOf } from '../../shell/link.tsx';
import { useWords } from '../../words/index.ts';
import styles from './access.module.css';
import { AccessForm } from './access-form.tsx';
import { Card, ToLogin } from './card.tsx';
import { LoginForm } from './login-form.tsx';

type Props = { boot: Boot };

/** The login page. */
export function LoginPage({ boot }: Props) {
  const { access } = useWords();
  if (loginCollection(boot) === null) {
    return (
      <Card title={access.noCollection} above={boot.title}>
        <p>{access.noCollectionText}</p>
      </Card>
    );
  }
  if (!boot.initialized) {
    return (
      <Card title={access.noAccount} above={boot.title}>
        <p>{access.noAccountText}</p>
      </Card>
    );
  }
  return (
    <Card title={access.logIn} above={boot.title}>
      <LoginForm boot={boot} />
      <p className={styles.below}>
        <Link href={addressOf(addresses.forgot)}>{access.forgot}</Link>
      </p>
    </Card>
  );
}

/** The page that sends a link for choosing a new password. */
export function ForgotPage({ boot }: Props) {
  const { access } = useWords();
  const [isSent, setSent] = useState(false);
  const accounts = client.collection(loginCollection(boot) ?? '-');
  return (
    <Card title={access.forgotTitle} above={boot.title}>
      <p role="status">{isSent ? access.forgotDone : access.forgotText}</p>
      {!isSent && (
        <AccessForm
          fields={[{ name: 'email', type: 'email', label: access.email, autoComplete: 'username' }]}
          button={access.forgotButton}
          send={async ({ email = '' }) => {
            await accounts.forgotPassword({ email });
            setSent(true);
          }}
        />
      )}
      <ToLogin />
    </Card>
  );
}
