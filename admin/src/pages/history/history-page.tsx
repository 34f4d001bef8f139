import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useParams, useSearchParams } from 'wouter';
import type { Field } from '../../schema/fields.ts';
import { type Collection, viewOf } from '../../schema/model.ts';
import { titleOf } from '../../schema/titles.ts';
import { useAsOf } from '../../service/as-of.ts';
import { client, versionOf } from '../../service/client.ts';
import { useCollection, useGlobal, useModel } from '../../service/model.tsx';
import { keys, useRead } from '../../service/queries.ts';
import { AbsenceNotice, useAbsence } from '../../shell/absent.tsx';
import { addresses } from '../../shell/addresses.ts';
import { Loading } from '../../shell/loading.tsx';
import { Failure, NotFound, Notice, Page } from '../../shell/page.tsx';
import { useShortcuts } from '../../shell/shortcuts.tsx';
import { useWords } from '../../words/index.ts';
import { DifferencePanel } from './difference-panel.tsx';
import styles from './history.module.css';
import { readHistory, type Target } from './target.ts';
import { VersionList } from './version-list.tsx';

const pageSize = 50;

/** The history of a document, also of a deleted one. */
export function HistoryPage() {
  const { slug = '', id = '' } = useParams();
  const collection = useCollection(slug);
  return collection === undefined ? <NotFound /> : <DocumentHistory collection={collection} id={id} />;
}

function DocumentHistory({ collection, id }: { collection: Collection; id: string }) {
  const { slug } = collection;
  const { history, shell } = useWords();
  const isNow = useAsOf() === null;
  const { data, error } = useRead([...keys.document(slug, id), 'version'], async (reading) => {
    const document = await client.collection(slug).findOne(id, { ...reading, ...viewOf(collection) });
    return document && { document, version: versionOf(client.etagOf(document)) };
  });
  const absence = useAbsence({ slug, id }, data === null);
  const isRead =
    error !== null || (data === null ? absence.data !== undefined || absence.error !== null : data !== undefined);
  if (!isNow && !isRead) return <Loading />;
  const title = data ? titleOf(collection, data.document) : id;
  const { fields, requireReason } = collection;
  const deleted = absence.data && 'deleted' in absence.data ? absence.data.deleted : null;
  const isNotYet = absence.data != null && deleted === null;
  return (
    <HistoryView
      key={id}
      target={{ kind: 'collection', slug, id, fields, requireReason, view: viewOf(collection) }}
      title={title}
      address={addresses.document(slug, id)}
      crumbs={[
        { title: collection.plural, to: addresses.list(slug) },
        ...(data === null ? [] : [{ title, to: addresses.document(slug, id) }]),
      ]}
      note={data !== null ? undefined : isNow ? history.deleted : deleted ? shell.deletedThen : undefined}
      upTo={isNow ? null : isNotYet ? 0 : (deleted?.version ?? data?.version ?? null)}
      ifNone={isNotYet ? <AbsenceNotice absence={absence.data ?? null} /> : undefined}
      mayRestore={collection.access.update}
    />
  );
}

/** The history of a global. */
export function GlobalHistoryPage() {
  const { slug = '' } = useParams();
  const global = useGlobal(slug);
  const asOf = useAsOf();
  const { data, error } = useRead(
    [...keys.global(slug), 'version'],
    async (reading) =>
      versionOf(client.etagOf(await client.global(slug).get({ ...reading, ...(global && viewOf(global)) }))),
    { enabled: asOf !== null && global !== undefined },
  );
  if (global === undefined) return <NotFound />;
  if (asOf !== null && data === undefined && error === null) return <Loading />;
  const target = {
    kind: 'global',
    slug,
    fields: global.fields as Field[],
    requireReason: false,
    view: viewOf(global),
  } as const;
  const address = addresses.global(slug);
  return (
    <HistoryView
      key={slug}
      target={target}
      title={global.label}
      address={address}
      crumbs={[{ title: global.label, to: address }]}
      upTo={asOf === null ? null : (data ?? null)}
      mayRestore={global.access.update}
    />
  );
}

type Props = {
  target: Target;
  title: string;
  address: string;
  crumbs: { title: string; to: string }[];
  note?: string | undefined;
  /** The last version that is shown; null for all. */
  upTo: number | null;
  /** Shown if there are no versions. */
  ifNone?: ReactNode;
  mayRestore: boolean;
};

function HistoryView({ target, title, address, crumbs, note, upTo, ifNone, mayRestore }: Props) {
  const { history } = useWords();
  const { audit } = useModel();
  const isNow = useAsOf() === null;
  const [wanted, setWanted] = useState(pageSize);
  const [search, setSearch] = useSearchParams();
  const id = target.kind === 'global' ? '' : target.id;
  const { data, error, refetch } = useRead(
    ['history', target.slug, id, { wanted, upTo }],
    ({ signal }) => readHistory(target, { count: wanted, upTo }, signal),
    { keep: true },
  );
  const last = data?.state.version ?? 0;
  // At a moment of the past, the address may still name a later version.
  const version = Math.min(numberOf(search, 'v') ?? last, last);
  const open = (changes: Record<string, number>) =>
    setSearch((own) => {
      own.delete('against');
      for (const [name, value] of Object.entries(changes)) own.set(name, String(value));
      return own;
    });
  useShortcuts([
    { keys: '[', run: () => version > (data?.first ?? 1) && open({ v: version - 1 }) },
    { keys: ']', run: () => version < last && open({ v: version + 1 }) },
  ]);
  if (error !== null) {
    return (
      <Page title={history.of(title)} crumbs={crumbs}>
        <Failure error={error} again={() => void refetch()} />
      </Page>
    );
  }
  if (data === undefined) return <Loading />;
  const newest = data.state.version;
  const against = search.get('against') === '0' ? 0 : (numberOf(search, 'against') ?? version - 1);
  return (
    <Page title={history.of(title)} crumbs={crumbs} about={data.state.erased ? history.erasedStream : note} isWide>
      {newest === 0 ? (
        (ifNone ?? <Notice icon="history" title={history.noneYet} />)
      ) : (
        <div className={styles.columns}>
          <div>
            <VersionList history={data} fields={target.fields} selected={version} open={(v) => open({ v })} />
            {data.first > 1 && (
              <Button variant="subtle" onClick={() => setWanted(wanted + pageSize)}>
                {history.earlier}
              </Button>
            )}
          </div>
          {audit.has('payloads') ? (
            <DifferencePanel
              key={`${version}/${against}`}
              target={target}
              history={data}
              version={version}
              against={against}
              compare={(other) => open({ v: version, against: other })}
              address={address}
              mayRestore={mayRestore && isNow && version !== newest}
            />
          ) : (
            <p>{history.noPayloads}</p>
          )}
        </div>
      )}
    </Page>
  );
}

function numberOf(search: URLSearchParams, name: string): number | null {
  return Number(search.get(name)) || null;
}
