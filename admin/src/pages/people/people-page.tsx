import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useParams } from 'wouter';
import type { Invitation } from '../../../../client/index.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Pager } from '../../parts/pager.tsx';
import { Panel, panelStyles } from '../../parts/panel.tsx';
import { Ago } from '../../parts/times.tsx';
import { tell, tellError } from '../../parts/toast.ts';
import type { Collection } from '../../schema/model.ts';
import { useAsOf } from '../../service/as-of.ts';
import { client } from '../../service/client.ts';
import { useCollection } from '../../service/model.tsx';
import { forget, invalidate, keys, useRead } from '../../service/queries.ts';
import type { User } from '../../service/session.ts';
import { usePages } from '../../service/use-pages.ts';
import { addresses } from '../../shell/addresses.ts';
import { Link } from '../../shell/link.tsx';
import { Failure, NotFound, Notice, Page } from '../../shell/page.tsx';
import { useWords } from '../../words/index.ts';

/** The accounts of a collection, and the invitations to it. */
export function PeoplePage() {
  const { slug = '' } = useParams();
  const collection = useCollection(slug);
  return collection?.isAuth ? <People key={slug} collection={collection} /> : <NotFound />;
}

function People({ collection }: { collection: Collection }) {
  const { people } = useWords();
  const [isInviting, setInviting] = useState(false);
  const mayInvite = useAsOf() === null && collection.access.create;
  return (
    <Page
      title={collection.plural}
      about={collection.hints.description}
      actions={mayInvite && <Button onClick={() => setInviting(true)}>{people.invite}</Button>}
    >
      {mayInvite && <Invitations slug={collection.slug} />}
      {collection.access.read ? <Accounts collection={collection} /> : <Unseen />}
      {isInviting && <InviteDialog slug={collection.slug} onClose={() => setInviting(false)} />}
    </Page>
  );
}

/** Says why no accounts are shown. */
export function Unseen() {
  const { people } = useWords();
  return (
    <Notice icon="lock" title={people.unseen}>
      <p>{people.unseenText}</p>
    </Notice>
  );
}

function Accounts({ collection: { slug } }: { collection: Collection }) {
  const { people } = useWords();
  const [page, setPage] = useState(1);
  const { data, error, refetch } = useRead(
    keys.list(slug, { page, people: true }),
    (reading) => client.collection(slug).find({ ...reading, page, limit: 20, sort: 'email' }),
    { keep: true },
  );
  if (error !== null) return <Failure error={error} again={() => void refetch()} />;
  return (
    <Panel title={people.accounts}>
      {data?.docs.length === 0 && <p className={panelStyles.empty}>{people.noAccounts}</p>}
      <ul className={panelStyles.rows}>
        {(data?.docs as User[] | undefined)?.map((user) => (
          <li key={user.id}>
            <div className={panelStyles.main}>
              <Link to={addresses.person(slug, user.id)}>{user.email}</Link>
              {typeof user.name === 'string' && <div className={panelStyles.soft}>{user.name}</div>}
            </div>
          </li>
        ))}
      </ul>
      {data !== undefined && <Pager page={page} pages={data.totalPages} setPage={setPage} />}
    </Panel>
  );
}

const invitationsOf = (slug: string) => ['invitations', slug] as const;

function Invitations({ slug }: { slug: string }) {
  const { people } = useWords();
  const [withdrawn, setWithdrawn] = useState<Invitation | null>(null);
  const { data, error, page, setPage } = usePages(invitationsOf(slug), client.collection(slug).invitations);
  if (error !== null) return <Failure error={error} />;
  if (data === undefined || data.total === 0) return null;
  return (
    <Panel title={people.invitations}>
      <ul className={panelStyles.rows}>
        {data.docs.map((invitation) => (
          <li key={invitation.id}>
            <div className={panelStyles.main}>
              {invitation.email}
              <div className={panelStyles.soft}>
                <Ago moment={invitation.createdAt} /> · {people.expires} <Ago moment={invitation.expiresAt} />
              </div>
            </div>
            <Button variant="default" size="compact-sm" onClick={() => setWithdrawn(invitation)}>
              {people.withdraw}
            </Button>
          </li>
        ))}
      </ul>
      <Pager page={page} pages={data.totalPages} setPage={setPage} />
      {withdrawn !== null && (
        <Confirm
          title={people.withdraw}
          button={people.withdraw}
          isDangerous
          onClose={() => setWithdrawn(null)}
          confirm={async () => {
            await client.collection(slug).withdrawInvitation(withdrawn.id);
            await invalidate(invitationsOf(slug));
            tell(people.withdrawn);
          }}
        >
          <p>{withdrawn.email}</p>
        </Confirm>
      )}
    </Panel>
  );
}

function InviteDialog({ slug, onClose }: { slug: string; onClose: () => void }) {
  const { people, access } = useWords();
  const [email, setEmail] = useState('');
  return (
    <Confirm
      title={people.inviteTitle}
      button={people.invite}
      onClose={onClose}
      confirm={async () => {
        await client.collection(slug).invite({ email });
        tell(people.invited(email));
        await Promise.all([forget(slug), invalidate(invitationsOf(slug))]).catch(tellError);
      }}
    >
      <TextInput
        type="email"
        required
        withAsterisk={false}
        label={access.email}
        description={people.inviteText}
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
        data-autofocus
      />
    </Confirm>
  );
}
