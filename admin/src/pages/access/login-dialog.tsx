import { Modal } from '@mantine/core';
import type { Boot } from '../../../../client/index.ts';
import type { Account } from '../../service/session.ts';
import { useWords } from '../../words/index.ts';
import { LoginForm } from './login-form.tsx';

/** The login over a page whose session is over: what is typed there stays. */
export function LoginDialog({ account }: { boot: Boot; account: Account }) {
  const { access } = useWords();
  return (
    <Modal opened onClose={() => undefined} withCloseButton={false} title={access.logInAgain}>
      <p>{access.expired}</p>
      <LoginForm collection={account.collection} email={account.user.email} />
    </Modal>
  );
}
