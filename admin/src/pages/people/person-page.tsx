import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useParams } from 'wouter';
import type { AccountState } from '../../../../client/index.ts';
import { Panel, panelStyles } from '../../parts/panel.tsx';
import { Sessions } from '../../parts/sessions.tsx';
import { Ago, momentOf } from '../../parts/times.tsx';
import { tell, tellError } from '../../parts/toast.ts';
import type { Collection } from '../../schema/model.ts';
import { titleOf } from '../../schema/titles.ts';
import { useAsOf } from '../../service/as-of.ts';
import { client } from '../../service/client.ts';
import { useCollection } from '../../service/model.tsx';
import { invalidate, keys, useRead } from '../../service/queries.ts';
import { type User, useAccount } from '../../service/session.ts';
import { AbsentPage } from '../../shell/absent.tsx';
import { addresses } from '../../shell/addresses.ts';
import { Link } from '../../shell/link.tsx';
import { Loading } from '../../shell/loading.tsx';
import { Failure, FailurePage, NotFound, Page } from '../../shell/page.tsx';
import { useLanguage, useWords } from '../../words/index.ts';
import { Unseen } from './people-page.tsx';
import styles from './person.module.css';

/** An account: its lock, its sessions, and a link to its fields. */
export function PersonPage() {
  const { slug = '', id = '' } = useParams();
  const collection = useCollection(slug);
  if (!collection?.isAuth) return <NotFound />;
  if (collection.access.read) return <Person key={id} collection={collection} id={id} />;
  return (
    <Page title={collection.plural}>
      <Unseen />
    </Page>
  );
}

function Person({ collection, id }: { collection: Collection; id: string }) {
  const { shared } = useWords();
  const { slug, plural } = collection;
  const isNow = useAsOf() === null;
  const { data, error, refetch } = useRead(keys.document(slug, id), (reading) =>
    client.collection(slug).findOne(id, reading),
  );
  if (error !== null) return <FailurePage error={error} again={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  const crumbs = [{ title: plural, to: addresses.people(slug) }];
  if (data === null) return isNow ? <NotFound /> : <AbsentPage slug={slug} id={id} crumbs={crumbs} />;
  const document: Record<string, unknown> = data;
  const user = document as User;
  const title = titleOf(collection, user);
  return (
    <Page
      title={title}
      about={title === user.email ? undefined : user.email}
      crumbs={crumbs}
      actions={
        <Link to={addresses.document(slug, id)} className={styles.link}>
          {shared.edit}
        </Link>
      }
    >
      {isNow && collection.access.update && <State slug={slug} id={id} />}
    </Page>
  );
}

const stateOf = (slug: string, id: string) => ['account', slug, id] as const;

function State({ slug, id }: { slug: string; id: string }) {
  const { people } = useWords();
  const { user } = useAccount();
  const accounts = client.collection(slug);
  const { data, error } = useRead(stateOf(slug, id), ({ signal }) => accounts.account(id, { signal }));
  if (error !== null) return error.status === 403 ? null : <Failure error={error} />;
  if (data === undefined) return <Loading />;
  const act = async (done: string, run: () => Promise<unknown>) => {
    try {
      await run();
      tell(done);
    } catch (problem) {
      tellError(problem);
    }
    await invalidate(stateOf(slug, id));
  };
  const unlock = () => act(people.unlocked, () => accounts.unlock(id));
  return (
    <>
      <Panel
        title={people.state}
        actions={
          (data.locked || data.failures > 0) &&
          user.id !== id && (
            <Button size="compact-sm" onClick={unlock}>
              {people.unlock}
            </Button>
          )
        }
      >
        <Facts state={data} />
      </Panel>
      <Panel title={people.sessions}>
        <Sessions
          sessions={data.sessions}
          end={({ sid }) => void act(people.ended, () => accounts.endSession(id, sid))}
        />
      </Panel>
    </>
  );
}

function Facts({ state }: { state: AccountState }) {
  const { people } = useWords();
  const language = useLanguage();
  const lock =
    state.lockedUntil === null ? people.locked : `${people.lockedUntil} ${momentOf(state.lockedUntil, language)}`;
  const facts: [string, ReactNode][] = [
    [people.lastLogin, state.lastLoginAt === null ? people.never : <Ago key="ago" moment={state.lastLoginAt} />],
    [people.locked, state.locked ? lock : people.notLocked],
  ];
  return (
    <div className={panelStyles.body}>
      <dl className={styles.facts}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {state.failures > 0 && <p>{people.failures(state.failures)}</p>}
      {!state.hasPassword && <p>{people.noPassword}</p>}
    </div>
  );
}
