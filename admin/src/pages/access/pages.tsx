import { type ReactNode, useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { ApiError, Boot } from '../../../../client/index.ts';
import { client } from '../../service/client.ts';
import { enter, loginCollection, type User } from '../../service/session.ts';
import { addresses } from '../../shell/addresses.ts';
import { addressOf } from '../../shell/link.tsx';
import { useWords, type Words } from '../../words/index.ts';
import styles from './access.module.css';
import { type AccessField, AccessForm } from './access-form.tsx';
import { Card } from './card.tsx';
import { useLinkToken } from './link.ts';
import { LoginForm } from './login-form.tsx';

type Props = { boot: Boot };

/** The page of a browser without a login. */
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

/** The page that sends a link to choose another password. */
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

/** The page of the link that chooses another password. */
export function ResetPage({ boot }: Props) {
  const { access } = useWords();
  const [isDone, setDone] = useState(false);
  const accounts = client.collection(loginCollection(boot) ?? '-');
  if (isDone) {
    return (
      <Card title={access.resetTitle} above={boot.title}>
        <p role="status">{access.resetDone}</p>
        <ToLogin />
      </Card>
    );
  }
  return (
    <LinkPage
      boot={boot}
      title={access.resetTitle}
      text={access.resetText}
      button={access.resetButton}
      fields={[passwordField(access)]}
      send={async (token, { password = '' }) => {
        await accounts.resetPassword({ token, password });
        setDone(true);
      }}
    />
  );
}

/** The page of an invitation. */
export function AcceptInvitePage({ boot }: Props) {
  const { access } = useWords();
  const [, go] = useLocation();
  const collection = loginCollection(boot) ?? '-';
  return (
    <LinkPage
      boot={boot}
      title={access.inviteTitle}
      text={access.inviteText}
      button={access.inviteButton}
      fields={[passwordField(access)]}
      send={async (token, { password = '', ...rest }) => {
        const { user } = await client.collection(collection).acceptInvite({ ...rest, token, password });
        enter({ collection, user: user as unknown as User });
        go(addressOf('/'));
      }}
    />
  );
}

/** The page of the link that the service prints at its first start. */
export function SetupPage({ boot }: Props) {
  const { access } = useWords();
  const collection = loginCollection(boot) ?? '-';
  const email: AccessField = { name: 'email', type: 'email', label: access.email, autoComplete: 'username' };
  return (
    <LinkPage
      boot={boot}
      title={access.setupTitle}
      text={access.setupText}
      button={access.setupButton}
      fields={[email, passwordField(access)]}
      send={async (setupToken, values) => {
        const { email = '', password = '', ...rest } = values;
        const { user } = await client
          .collection(collection)
          .registerFirstUser({ ...rest, setupToken, email, password });
        enter({ collection, user: user as unknown as User });
      }}
    />
  );
}

type LinkProps = Props & {
  title: string;
  text: string;
  button: string;
  fields: AccessField[];
  send: (token: string, values: Record<string, string>) => Promise<void>;
};

/** A form that the token of a link opens. */
function LinkPage({ boot, title, text, button, fields, send }: LinkProps) {
  const { access } = useWords();
  const token = useLinkToken();
  const [isUsed, setUsed] = useState(false);
  if (token === null) return <Refused boot={boot} title={access.noToken} text={access.noTokenText} />;
  if (isUsed) return <Refused boot={boot} title={access.usedLink} text={access.usedLinkText} />;
  const isDealtWith = (error: ApiError) => {
    const isRefused = error.errors.some(({ field }) => field === 'token' || field === 'setupToken');
    if (isRefused) setUsed(true);
    return isRefused;
  };
  return (
    <Card title={title} above={boot.title}>
      <p>{text}</p>
      <AccessForm fields={fields} button={button} send={(values) => send(token, values)} isDealtWith={isDealtWith} />
    </Card>
  );
}

function Refused({ boot, title, text }: Props & { title: string; text: string }): ReactNode {
  return (
    <Card title={title} above={boot.title}>
      <p role="alert">{text}</p>
      <ToLogin />
    </Card>
  );
}

function ToLogin() {
  const { access } = useWords();
  return (
    <p className={styles.below}>
      <Link href={addressOf(addresses.login)}>{access.toLogin}</Link>
    </p>
  );
}

/** The field of a password that is chosen. */
function passwordField(access: Words['access']): AccessField {
  const { password: label, passwordHint: hint } = access;
  return { name: 'password', type: 'password', label, hint, autoComplete: 'new-password' };
}
