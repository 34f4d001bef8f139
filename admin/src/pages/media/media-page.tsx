import { useEffect, useState } from 'react';
import { useSearchParams } from 'wouter';
import { Pager } from '../../parts/pager.tsx';
import type { Collection } from '../../schema/model.ts';
import { useAsOf } from '../../service/as-of.ts';
import { useModel } from '../../service/model.tsx';
import { addresses } from '../../shell/addresses.ts';
import { Link } from '../../shell/link.tsx';
import { Loading } from '../../shell/loading.tsx';
import { Failure, Notice, Page } from '../../shell/page.tsx';
import { useWords } from '../../words/index.ts';
import { Deletion } from './file/deletion.tsx';
import { FileDrawer } from './file/file-drawer.tsx';
import { acceptOf } from './files.ts';
import { Grid } from './library/grid.tsx';
import { viewOf, writeView } from './library/query.ts';
import { useLibrary } from './library/use-library.ts';
import styles from './media.module.css';
import { MediaToolbar, SelectionBar } from './media-toolbar.tsx';
import { Drop } from './sending/drop.tsx';
import { PickButton } from './sending/pick-button.tsx';
import { Sendings } from './sending/sendings.tsx';
import { useQueue } from './sending/use-queue.ts';

/** The files of all upload collections. */
export function MediaPage() {
  const { media } = useWords();
  const { collections } = useModel();
  const [search] = useSearchParams();
  const libraries = [...collections.values()].filter(({ upload, access }) => upload && access.read);
  const shown = libraries.find(({ slug }) => slug === search.get('collection')) ?? libraries[0];
  if (shown === undefined) {
    return (
      <Page title={media.title}>
        <Notice icon="media" title={media.noCollections} />
      </Page>
    );
  }
  return <Library key={shown.slug} collection={shown} libraries={libraries} />;
}

/** The view in the address, and the function that changes it. */
function useView() {
  const [search, setSearch] = useSearchParams();
  const set = (write: (search: URLSearchParams) => URLSearchParams, replace = false) =>
    setSearch((now) => write(new URLSearchParams(now)), { replace });
  return {
    view: viewOf(search),
    file: search.get('file'),
    change: (change: Parameters<typeof writeView>[1]) => set((now) => writeView(now, change), 'q' in change),
    open: (id: string | null) =>
      set((now) => {
        if (id === null) now.delete('file');
        else now.set('file', id);
        return now;
      }),
  };
}

function Library({ collection, libraries }: { collection: Collection; libraries: Collection[] }) {
  const { media } = useWords();
  const isPast = useAsOf() !== null;
  const { view, file, change, open } = useView();
  const { data, error, refetch, isPlaceholderData } = useLibrary(collection, view);
  const { queue, ...sending } = useQueue(collection);
  const [selected, setSelected] = useState<readonly string[]>([]);
  const [isDeleting, setDeleting] = useState(false);
  const canSend = collection.access.create && !isPast;
  const canDelete = collection.access.delete && !isPast;
  const files = data?.docs ?? [];
  const isFiltered = view.q !== '' || view.type !== '';
  // A deletion or another view may leave fewer pages than the address says.
  useEffect(() => {
    if (data && !isPlaceholderData && view.page > Math.max(1, data.totalPages)) change({ page: data.totalPages || 1 });
  });
  const pick = collection.upload !== false && canSend && (
    <PickButton
      variant="filled"
      isMany
      label={media.upload}
      accept={acceptOf(collection.upload.mimeTypes)}
      onFiles={sending.add}
    />
  );
  return (
    <Drop className={styles.drop} isOff={!canSend} onFiles={sending.add}>
      {({ isOver }) => (
        <Page title={media.title} isWide actions={pick} about={data && media.files(data.total)}>
          {libraries.length > 1 && <Tabs libraries={libraries} shown={collection.slug} />}
          {isOver && <p className={styles.over}>{media.dropTo(collection.plural)}</p>}
          <MediaToolbar view={view} change={change} />
          <Sendings queue={queue} collection={collection} {...sending} />
          {selected.length > 0 && (
            <SelectionBar count={selected.length} clear={() => setSelected([])} remove={() => setDeleting(true)} />
          )}
          {error !== null && <Failure error={error} again={() => void refetch()} />}
          {data === undefined && error === null && <Loading />}
          {data !== undefined && files.length === 0 && (
            <Empty isFiltered={isFiltered} canSend={canSend} clear={() => change({ q: '', type: '' })} />
          )}
          <Grid
            files={files}
            isOld={isPlaceholderData}
            selected={selected}
            onSelect={canDelete ? setSelected : undefined}
            onOpen={open}
          />
          {data !== undefined && (
            <Pager page={view.page} pages={data.totalPages} setPage={(page) => change({ page })} />
          )}
          {file !== null && <FileDrawer key={file} collection={collection} id={file} onClose={() => open(null)} />}
          {isDeleting && (
            <Deletion
              collection={collection}
              ids={selected}
              onClose={() => setDeleting(false)}
              onDeleted={(ids) => setSelected((now) => now.filter((id) => !ids.includes(id)))}
            />
          )}
        </Page>
      )}
    </Drop>
  );
}

/** The tabs of the upload collections, each with an address of its own. */
function Tabs({ libraries, shown }: { libraries: Collection[]; shown: string }) {
  const { media } = useWords();
  return (
    <nav className={styles.tabs} aria-label={media.collection}>
      {libraries.map(({ slug, plural }) => (
        <Link
          key={slug}
          to={`${addresses.media}?collection=${encodeURIComponent(slug)}`}
          aria-current={slug === shown ? 'page' : undefined}
        >
          {plural}
        </Link>
      ))}
    </nav>
  );
}

function Empty({ isFiltered, canSend, clear }: { isFiltered: boolean; canSend: boolean; clear: () => void }) {
  const { media } = useWords();
  if (isFiltered) {
    return (
      <Notice icon="search" title={media.noMatch}>
        <button type="button" className={styles.clear} onClick={clear}>
          {media.clear}
        </button>
      </Notice>
    );
  }
  return (
    <div className={canSend ? styles.zone : undefined}>
      <Notice icon="media" title={media.empty}>
        <p>{canSend ? media.emptyText : media.emptyRead}</p>
      </Notice>
    </div>
  );
}
