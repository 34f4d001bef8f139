import { useState } from 'react';
import { useLocation } from 'wouter';
import type { ApiError, Boot } from '../../../../client/index.ts';
import { client } from '../../service/client.ts';
import { enter, loginCollection } from '../../service/session.ts';
import { addressOf } from '../../shell/link.tsx';
import { useWords } from '../../words/index.ts';
import { type AccessField, AccessForm } from './access-form.tsx';
import { Card, ToLogin } from './card.tsx';
import { useLinkToken } from './link.ts';

type Props = { boot: Boot };

/** The page of the link for choosing a new password. */
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
  const send = async (token: string, { password = '' }: Values) => {
    await accounts.resetPassword({ token, password });
    setDone(true);
  };
  return <LinkPage boot={boot} kind="reset" send={send} />;
}

/** The page of an invitation. */
export function AcceptInvitePage({ boot }: Props) {
  const [, go] = useLocation();
  const collection = loginCollection(boot) ?? '-';
  const send = async (token: string, { password = '', ...rest }: Values) => {
    const { user } = await client.collection(collection).acceptInvite({ ...rest, token, password });
    enter({ collection, user });
    go(addressOf('/'));
  };
  return <LinkPage boot={boot} kind="invite" send={send} />;
}

/** The page of the link that the service prints at its first start. */
export function SetupPage({ boot }: Props) {
  const { access } = useWords();
  const collection = loginCollection(boot) ?? '-';
  const fields: AccessField[] = [{ name: 'email', type: 'email', label: access.email, autoComplete: 'username' }];
  const send = async (setupToken: string, { email = '', password = '', ...rest }: Values) => {
    const answer = await client.collection(collection).createFirstUser({ ...rest, setupToken, email, password });
    enter({ collection, user: answer.user });
  };
  return <LinkPage boot={boot} kind="setup" fields={fields} send={send} />;
}

type Values = Record<string, string>;

type LinkProps = Props & {
  kind: 'reset' | 'invite' | 'setup';
  /** The fields before the password. */
  fields?: AccessField[];
  send: (token: string, values: Values) => Promise<void>;
};

/** The page of a link with a token, with a form for choosing a password. */
function LinkPage({ boot, kind, fields = [], send }: LinkProps) {
  const { access } = useWords();
  const token = useLinkToken();
  const [isUsed, setUsed] = useState(false);
  if (token === null) return <Refused boot={boot} title={access.noToken} text={access.noTokenText} />;
  if (isUsed) return <Refused boot={boot} title={access.usedLink} text={access.usedLinkText} />;
  const { password: label, passwordHint: hint } = access;
  const password: AccessField = { name: 'password', type: 'password', label, hint, autoComplete: 'new-password' };
  const isDealtWith = (error: ApiError) => {
    const isRefused = error.errors.some(({ field }) => field === 'token' || field === 'setupToken');
    if (isRefused) setUsed(true);
    return isRefused;
  };
  return (
    <Card title={access[`${kind}Title`]} above={boot.title}>
      <p>{access[`${kind}Text`]}</p>
      <AccessForm
        fields={[...fields, password]}
        button={access[`${kind}Button`]}
        send={(values) => send(token, values)}
        isDealtWith={isDealtWith}
      />
    </Card>
  );
}

function Refused({ boot, title, text }: Props & { title: string; text: string }) {
  return (
    <Card title={title} above={boot.title}>
      <p role="alert">{text}</p>
      <ToLogin />
    </Card>
  );
}
