import { Button, NativeSelect } from '@mantine/core';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import type { Actor, Trashed } from '../../../../client/index.ts';
import { nameOfActor } from '../../parts/actors.tsx';
import { Pager } from '../../parts/pager.tsx';
import { Ago } from '../../parts/times.tsx';
import { collectionRecordedAs, type Model } from '../../schema/model.ts';
import type { Related } from '../../schema/titles.ts';
import { useAsOf } from '../../service/as-of.ts';
import { client } from '../../service/client.ts';
import { useModel } from '../../service/model.tsx';
import { useRead } from '../../service/queries.ts';
import { useTitles } from '../../service/related-titles.ts';
import { useAccount } from '../../service/session.ts';
import { Loading } from '../../shell/loading.tsx';
import { Failure, Notice, Page } from '../../shell/page.tsx';
import { Icon } from '../../theme/icons.tsx';
import { useWords } from '../../words/index.ts';
import { RestoreDialog } from './restore-dialog.tsx';
import styles from './trash.module.css';

/** The deleted documents of all collections. At a moment of the past they can only be looked at. */
export function TrashPage() {
  const { trash, shell } = useWords();
  const isNow = useAsOf() === null;
  return (
    <Page title={shell.trash} about={isNow ? trash.about : trash.aboutThen} isWide>
      <Trash isNow={isNow} />
    </Page>
  );
}

const limit = 20;

/** Reads the page of the trash that the address names by `collection` and `page`. */
function useTrash() {
  const [search, setSearch] = useSearchParams();
  const slug = search.get('collection') ?? '';
  const number = Number(search.get('page') ?? 1);
  const page = Number.isInteger(number) && number >= 1 ? number : 1;
  const read = useRead(
    ['trash', slug, page],
    (reading) => {
      const options = { ...reading, limit, page };
      return slug === '' ? client.trash(options) : client.collection(slug).trash(options);
    },
    { keep: true },
  );
  const set = (name: 'collection' | 'page', value: string) =>
    setSearch((now) => {
      if (name === 'collection') now.delete('page');
      if (value === '' || (name === 'page' && value === '1')) now.delete(name);
      else now.set(name, value);
      return now;
    });
  return { slug, page, read, set };
}

function Trash({ isNow }: { isNow: boolean }) {
  const { trash } = useWords();
  const { slug, page, read, set } = useTrash();
  const [restoring, setRestoring] = useState<Trashed | null>(null);
  const { data, error } = read;
  return (
    <>
      <CollectionSelect value={slug} set={(next) => set('collection', next)} />
      {error !== null ? (
        <Failure error={error} again={() => void read.refetch()} />
      ) : data === undefined ? (
        <Loading />
      ) : data.docs.length === 0 ? (
        <Notice icon="trash" title={trash.empty}>
          {isNow && <p>{trash.emptyText}</p>}
        </Notice>
      ) : (
        <Rows docs={data.docs} isStale={read.isPlaceholderData} restore={isNow ? setRestoring : null} />
      )}
      {data !== undefined && (
        <Pager page={page} pages={data.totalPages} setPage={(next) => set('page', String(next))} />
      )}
      {restoring !== null && <RestoreDialog deleted={restoring} close={() => setRestoring(null)} />}
    </>
  );
}

function CollectionSelect({ value, set }: { value: string; set: (slug: string) => void }) {
  const { trash } = useWords();
  const { collections } = useModel();
  const deletable = [...collections.values()].filter(({ access }) => access.read && access.delete);
  return (
    <NativeSelect
      className={styles.select}
      aria-label={trash.collection}
      value={value}
      onChange={(event) => set(event.currentTarget.value)}
      data={[
        { value: '', label: trash.allCollections },
        ...deletable.map(({ slug, plural }) => ({ value: slug, label: plural })),
      ]}
    />
  );
}

type RowsProps = { docs: readonly Trashed[]; isStale: boolean; restore: ((deleted: Trashed) => void) | null };

function Rows({ docs, isStale, restore }: RowsProps) {
  const { trash, shell } = useWords();
  const model = useModel();
  const names = useTitles(docs.flatMap(({ deletedBy }) => userOf(deletedBy, model)));
  return (
    <div className={styles.frame}>
      <table className={isStale ? styles.stale : undefined} aria-label={shell.trash}>
        <thead>
          <tr>
            <th scope="col">{trash.document}</th>
            <th scope="col">{trash.deletedAt}</th>
            <th scope="col">{trash.by}</th>
            <th scope="col">{trash.why}</th>
            {restore !== null && <td />}
          </tr>
        </thead>
        <tbody>
          {docs.map((deleted) => (
            <Row key={deleted.id} deleted={deleted} names={names} restore={restore && (() => restore(deleted))} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The user behind an actor, whose id in events is `<category>/<id>`. */
function userOf(actor: Actor | null, model: Model): Related[] {
  if (actor?.type !== 'user') return [];
  const [category = '', id = ''] = actor.id?.split('/') ?? [];
  return [{ relationTo: collectionRecordedAs(model, category)?.slug ?? category, id }];
}

type RowProps = { deleted: Trashed; names: ReadonlyMap<string, string>; restore: (() => void) | null };

function Row({ deleted, names, restore }: RowProps) {
  const { trash, shared } = useWords();
  const model = useModel();
  const { collections, audit } = model;
  const { user } = useAccount();
  const { deletedBy, reason } = deleted;
  const name = useNameOf(deleted);
  const singular = collections.get(deleted.collection)?.singular ?? deleted.collection;
  const [actor] = userOf(deletedBy, model);
  const label = names.get(actor ? `${actor.relationTo}/${actor.id}` : '') ?? null;
  return (
    <tr>
      <th scope="row">
        <span className={styles.title}>{name}</span>
        <span className={styles.soft}>{singular}</span>
      </th>
      <td data-label={trash.deletedAt}>
        <Ago moment={deleted.deletedAt} />
      </td>
      <td data-label={trash.by}>
        {deletedBy === null ? (
          <Soft>{trash.hiddenActor}</Soft>
        ) : (
          <span title={deletedBy.id}>{nameOfActor({ ...deletedBy, label }, shared, user.id)}</span>
        )}
      </td>
      <td data-label={trash.why} className={styles.why}>
        {reason ?? <Soft>{audit.has('payloads') ? trash.noReason : trash.hidden}</Soft>}
      </td>
      {restore !== null && (
        <td className={styles.action}>
          <Button
            variant="default"
            size="xs"
            leftSection={<Icon name="restore" size={14} />}
            aria-label={trash.restoreTitle(name)}
            onClick={restore}
          >
            {trash.restore}
          </Button>
        </td>
      )}
    </tr>
  );
}

/** The name of a deleted document, also if the user may not see its title. */
function useNameOf({ collection, title }: Trashed): string {
  const { trash } = useWords();
  const { collections } = useModel();
  return title ?? trash.noTitle(collections.get(collection)?.singular ?? collection);
}

function Soft({ children }: { children: string }) {
  return <span className={styles.soft}>{children}</span>;
}
