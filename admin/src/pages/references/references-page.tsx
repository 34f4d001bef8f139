import { useParams, useSearchParams } from 'wouter';
import { Pager } from '../../parts/pager.tsx';
import { type Collection, viewOf } from '../../schema/model.ts';
import { titleOf } from '../../schema/titles.ts';
import { useAsOf } from '../../service/as-of.ts';
import { client } from '../../service/client.ts';
import { useCollection } from '../../service/model.tsx';
import { keys, useRead } from '../../service/queries.ts';
import { AbsentPage } from '../../shell/absent.tsx';
import { addresses } from '../../shell/addresses.ts';
import { Loading } from '../../shell/loading.tsx';
import { Failure, NotFound, Notice, Page } from '../../shell/page.tsx';
import { useWords } from '../../words/index.ts';
import { ReferenceRow } from './reference-row.tsx';
import styles from './references.module.css';

/** The page of all places that point at a document. */
export function ReferencesPage() {
  const { slug = '', id = '' } = useParams();
  const collection = useCollection(slug);
  return collection === undefined ? <NotFound /> : <References key={id} collection={collection} id={id} />;
}

const perPage = 50;

function References({ collection, id }: { collection: Collection; id: string }) {
  const { references } = useWords();
  const [search, setSearch] = useSearchParams();
  const page = Math.max(1, Math.trunc(Number(search.get('page'))) || 1);
  const { slug } = collection;
  const isNow = useAsOf() === null;
  const document = useRead(keys.document(slug, id), (reading) =>
    client.collection(slug).findOne(id, { ...reading, ...viewOf(collection) }),
  );
  const { data, error, refetch } = useRead(
    ['references', slug, id, { page }],
    (reading) => client.collection(slug).references(id, { ...reading, ...viewOf(collection), limit: perPage, page }),
    { keep: true, enabled: document.data !== null },
  );
  const crumbs = [{ title: collection.plural, to: addresses.list(slug) }];
  if (document.data === null) return isNow ? <NotFound /> : <AbsentPage slug={slug} id={id} crumbs={crumbs} />;
  const title = document.data === undefined ? '…' : titleOf(collection, document.data);
  const setPage = (next: number) => {
    setSearch((now) => {
      now.set('page', String(next));
      return now;
    });
  };
  return (
    <Page
      title={references.title}
      crumbs={[...crumbs, { title, to: addresses.document(slug, id) }]}
      about={data && references.count(data.total)}
    >
      {error !== null && <Failure error={error} again={() => void refetch()} />}
      {data === undefined && error === null && <Loading />}
      {data?.docs.length === 0 && (
        <Notice icon="link" title={references.empty}>
          <p>{references.emptyText}</p>
        </Notice>
      )}
      {data !== undefined && data.docs.length > 0 && (
        <div className={styles.panel}>
          <ul className={styles.rows} aria-label={references.of(title)}>
            {data.docs.map((reference) => (
              <ReferenceRow key={`${reference.id}${reference.field}`} reference={reference} />
            ))}
          </ul>
          <Pager page={page} pages={data.totalPages} setPage={setPage} />
        </div>
      )}
    </Page>
  );
}
