import { Button } from '@mantine/core';
import { ActorName } from '../../parts/actors.tsx';
import { Panel, panelStyles } from '../../parts/panel.tsx';
import { Ago } from '../../parts/times.tsx';
import { fieldAt, labelOf } from '../../schema/fields.ts';
import { groupsOf, viewOfAny } from '../../schema/model.ts';
import { useAsOf } from '../../service/as-of.ts';
import { client } from '../../service/client.ts';
import { everyEntry } from '../../service/every-page.ts';
import { useModel } from '../../service/model.tsx';
import { keys, useRead } from '../../service/queries.ts';
import { useAccount } from '../../service/session.ts';
import { addresses, addressOfDraft } from '../../shell/addresses.ts';
import { Link } from '../../shell/link.tsx';
import { Failure, Page } from '../../shell/page.tsx';
import { useWords } from '../../words/index.ts';
import { type Change, readChanges } from './changes.ts';
import { FirstSteps } from './first-steps.tsx';
import styles from './home.module.css';
import { MissingIndexes } from './missing-indexes.tsx';

/** The first page after a login: the latest changes, the user's unsaved changes, the size of each collection. */
export function HomePage() {
  const { home } = useWords();
  const { user } = useAccount();
  const { audit } = useModel();
  const isNow = useAsOf() === null;
  const name = typeof user.name === 'string' && user.name !== '' ? user.name : user.email;
  return (
    <Page title={home.greeting(name)}>
      {isNow && <FirstSteps />}
      <Counts />
      <div className={styles.columns}>
        {audit.has('payloads') && <Changes />}
        {isNow && <Drafts />}
      </div>
      {isNow && <MissingIndexes />}
    </Page>
  );
}

function Counts() {
  const { home, shared } = useWords();
  const model = useModel();
  const { data } = useRead(keys.counts, (reading) => client.counts({ ...reading, ...viewOfAny(model) }), {
    keep: true,
  });
  const collections = groupsOf(model).flatMap((group) => group.collections);
  if (collections.length === 0) return null;
  return (
    <nav aria-label={home.counts}>
      <ul className={styles.cards}>
        {collections.map(({ slug, plural }) => (
          <li key={slug}>
            <Link to={addresses.list(slug)} className={styles.card}>
              <strong>{plural}</strong>
              <span>{data === undefined ? ' ' : shared.documents(data[slug]?.total ?? 0)}</span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Changes() {
  const { home } = useWords();
  const model = useModel();
  const { data, error, refetch } = useRead(['changes'], (reading) => readChanges(model, reading), { keep: true });
  return (
    <Panel title={home.changes}>
      {error !== null && <Failure error={error} again={() => void refetch()} />}
      {data?.length === 0 && <p className={panelStyles.empty}>{home.noChanges}</p>}
      <ul className={panelStyles.rows}>
        {data?.map((change) => (
          <ChangeRow key={change.position} change={change} />
        ))}
      </ul>
    </Panel>
  );
}

function ChangeRow({ change }: { change: Change }) {
  const { home } = useWords();
  const model = useModel();
  const isDocument = 'collection' in change;
  const schema = isDocument ? model.collections.get(change.collection) : model.globals.get(change.global);
  const place = isDocument ? addresses.history(change.collection, change.id) : addresses.globalHistory(change.global);
  const names = change.fields.map((name) => labelOf(fieldAt(schema?.fields ?? [], name) ?? { name }));
  const isGone = change.kind === 'erased';
  return (
    <li>
      <span className={panelStyles.main}>
        <ActorName actor={change.actor} /> {home[change.kind]}{' '}
        {isGone ? change.title : <Link to={place}>{change.title}</Link>}
        {names.length > 0 && <span className={panelStyles.soft}>{home.fields(names.join(', '))}</span>}
        {change.reason !== null && <q className={styles.reason}>{change.reason}</q>}
      </span>
      <span className={panelStyles.soft}>
        <Ago moment={change.recordedAt} />
      </span>
    </li>
  );
}

function Drafts() {
  const { home } = useWords();
  const { data, error, refetch } = useRead(['drafts'], ({ signal }) =>
    everyEntry((query) => client.drafts.list({ ...query, signal })),
  );
  return (
    <Panel title={home.unsaved}>
      {error !== null && (
        <p className={panelStyles.empty} role="alert">
          {error.message}{' '}
          <Button variant="subtle" size="compact-sm" onClick={() => void refetch()}>
            ↻
          </Button>
        </p>
      )}
      {data?.length === 0 && <p className={panelStyles.empty}>{home.noUnsaved}</p>}
      <ul className={panelStyles.rows}>
        {data?.map((draft) => (
          <li key={addressOfDraft(draft)}>
            <Link className={panelStyles.main} to={addressOfDraft(draft)}>
              {draft.title}
            </Link>
            <span className={panelStyles.soft}>
              <Ago moment={draft.updatedAt} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
