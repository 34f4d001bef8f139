import { Button, PasswordInput } from '@mantine/core';
import { useState } from 'react';
import { Confirm } from '../../parts/confirm.tsx';
import { Pager } from '../../parts/pager.tsx';
import { Panel, panelStyles } from '../../parts/panel.tsx';
import { Sessions } from '../../parts/sessions.tsx';
import { tell, tellError } from '../../parts/toast.ts';
import { client } from '../../service/client.ts';
import { invalidate } from '../../service/queries.ts';
import { logOut, useAccount } from '../../service/session.ts';
import { usePages } from '../../service/use-pages.ts';
import { addresses } from '../../shell/addresses.ts';
import { Link } from '../../shell/link.tsx';
import { Failure, Page } from '../../shell/page.tsx';
import { useWords } from '../../words/index.ts';

const sessionsKey = ['sessions'] as const;

/** The user's own account: password, sessions, and a link to its fields. */
export function MePage() {
  const { people, shell } = useWords();
  const { collection, user } = useAccount();
  const [isChanging, setChanging] = useState(false);
  return (
    <Page
      title={people.me}
      about={user.email}
      actions={
        <Button variant="default" onClick={() => void logOut()}>
          {shell.logOut}
        </Button>
      }
    >
      <Panel
        title={people.profile}
        actions={
          <Button variant="default" size="compact-sm" onClick={() => setChanging(true)}>
            {people.changePassword}
          </Button>
        }
      >
        <p className={panelStyles.body}>
          <Link to={addresses.document(collection, user.id)}>{people.profileText}</Link>
        </p>
      </Panel>
      <MySessions />
      {isChanging && <PasswordDialog onClose={() => setChanging(false)} />}
    </Page>
  );
}

function MySessions() {
  const { people } = useWords();
  const { collection } = useAccount();
  const accounts = client.collection(collection);
  const { data, error, refetch, page, setPage } = usePages(sessionsKey, accounts.sessions);
  const end = async (sid: string) => {
    try {
      await accounts.endOwnSession(sid);
      tell(people.ended);
    } catch (problem) {
      tellError(problem);
    }
    await invalidate(sessionsKey);
  };
  return (
    <Panel title={people.mySessions}>
      {error !== null && <Failure error={error} again={() => void refetch()} />}
      {data !== undefined && <Sessions sessions={data.docs} end={({ sid }) => void end(sid)} />}
      {data !== undefined && <Pager page={page} pages={data.totalPages} setPage={setPage} />}
    </Panel>
  );
}

function PasswordDialog({ onClose }: { onClose: () => void }) {
  const { people, access } = useWords();
  const { collection, user } = useAccount();
  const [password, setPassword] = useState('');
  return (
    <Confirm
      title={people.changePassword}
      button={people.changePassword}
      onClose={onClose}
      confirm={async () => {
        await client.collection(collection).update(user.id, { password });
        tell(people.passwordChanged);
        await invalidate(sessionsKey);
      }}
    >
      <PasswordInput
        label={access.newPassword}
        description={access.passwordHint}
        autoComplete="new-password"
        required
        withAsterisk={false}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        data-autofocus
      />
    </Confirm>
  );
}
