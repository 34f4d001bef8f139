import type { Boot } from '../../../../client/index.ts';
import { loginCollection } from '../../service/session.ts';
import { useWords } from '../../words/index.ts';
import { Card } from './card.tsx';
import { LoginForm } from './login-form.tsx';

/** The page of a browser without a login. */
export function LoginPage({ boot }: { boot: Boot }) {
  const { access } = useWords();
  const collection = loginCollection(boot);
  return (
    <Card title={access.logIn} above={boot.title}>
      {collection !== null && <LoginForm collection={collection} />}
    </Card>
  );
}

export function ForgotPage({ boot }: { boot: Boot }) {
  return (
    <Card title="Forgotten password" above={boot.title}>
      {null}
    </Card>
  );
}

export function ResetPage({ boot }: { boot: Boot }) {
  return (
    <Card title="Reset" above={boot.title}>
      {null}
    </Card>
  );
}

export function AcceptInvitePage({ boot }: { boot: Boot }) {
  return (
    <Card title="Invitation" above={boot.title}>
      {null}
    </Card>
  );
}

export function SetupPage({ boot }: { boot: Boot }) {
  return (
    <Card title="Setup" above={boot.title}>
      {null}
    </Card>
  );
}
