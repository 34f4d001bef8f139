import { Modal } from '@mantine/core';
import { useEffect } from 'react';
import type { Boot } from '../../../../client/index.ts';
import { useDialog } from '../../parts/dialog.ts';
import { readFailedAgain } from '../../service/queries.ts';
import type { Account } from '../../service/session.ts';
import { useWords } from '../../words/index.ts';
import { LoginForm } from './login-form.tsx';

/** The login over a page whose session has expired: the text being typed there stays. */
export function LoginDialog({ boot, account: { collection, user } }: { boot: Boot; account: Account }) {
  const { access } = useWords();
  useEffect(() => () => void readFailedAgain(), []);
  return (
    <Modal {...useDialog(() => undefined)} withCloseButton={false} title={access.logInAgain}>
      <p>
        {access.expired} {access.otherAccount}
      </p>
      <LoginForm boot={boot} last={{ collection, email: user.email }} />
    </Modal>
  );
}
