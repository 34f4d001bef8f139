import { Button } from '@mantine/core';
import { useState } from 'react';
import { useParams, useSearchParams } from 'wouter';
import type { Field } from '../../schema/fields.ts';
import { titleOf } from '../../schema/titles.ts';
import { useAsOf } from '../../service/as-of.ts';
import { client } from '../../service/client.ts';
import { useCollection, useGlobal, useModel } from '../../service/model.tsx';
import { keys, useRead } from '../../service/queries.ts';
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

/** The history of a document, of a deleted one too. */
export function HistoryPage() {
  const { slug = '', id = '' } = useParams();
  const { history } = useWords();
  const collection = useCollection(slug);
  const { data } = useRead(keys.document(slug, id), (reading) => client.collection(slug).findOne(id, reading), {
    enabled: collection !== undefined,
  });
  if (collection === undefined) return <NotFound />;
  const title = data === null || data === undefined ? id : titleOf(collection, data);
  const { fields, requireReason } = collection;
  return (
    <HistoryView
      key={id}
      target={{ kind: 'collection', slug, id, fields, requireReason }}
      title={title}
      address={addresses.document(slug, id)}
      crumbs={[
        { title: collection.plural, to: addresses.list(slug) },
        ...(data === null ? [] : [{ title, to: addresses.document(slug, id) }]),
      ]}
      note={data === null ? history.deleted : undefined}
      mayRestore={collection.access.update}
    />
  );
}

/** The history of a global. */
export function GlobalHistoryPage() {
  const { slug = '' } = useParams();
  const global = useGlobal(slug);
  if (global === undefined) return <NotFound />;
  const target = { kind: 'global', slug, fields: global.fields as Field[], requireReason: false } as const;
  const address = addresses.global(slug);
  return (
    <HistoryView
      key={slug}
      target={target}
      title={global.label}
      address={address}
      crumbs={[{ title: global.label, to: address }]}
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
  mayRestore: boolean;
};

function HistoryView({ target, title, address, crumbs, note, mayRestore }: Props) {
  const { history } = useWords();
  const { audit } = useModel();
  const isNow = useAsOf() === null;
  const [wanted, setWanted] = useState(pageSize);
  const [search, setSearch] = useSearchParams();
  const id = target.kind === 'global' ? '' : target.id;
  const { data, error, refetch } = useRead(
    ['history', target.slug, id, wanted],
    ({ signal }) => readHistory(target, wanted, signal),
    { keep: true },
  );
  const version = numberOf(search, 'v') ?? data?.state.version ?? 0;
  const open = (changes: Record<string, number>) =>
    setSearch((own) => {
      own.delete('against');
      for (const [name, value] of Object.entries(changes)) own.set(name, String(value));
      return own;
    });
  useShortcuts([
    { keys: '[', run: () => version > (data?.first ?? 1) && open({ v: version - 1 }) },
    { keys: ']', run: () => version < (data?.state.version ?? 0) && open({ v: version + 1 }) },
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
        <Notice icon="history" title={history.noneYet} />
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
