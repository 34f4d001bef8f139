import { useState } from 'react';
import { useParams, useSearchParams } from 'wouter';
import type { Collection } from '../../schema/model.ts';
import { useAsOf } from '../../service/as-of.ts';
import { useCollection } from '../../service/model.tsx';
import { keys, useOwnRead, useRead } from '../../service/queries.ts';
import { nameOf, useAccount } from '../../service/session.ts';
import { AbsentPage } from '../../shell/absent.tsx';
import { addresses } from '../../shell/addresses.ts';
import { Link } from '../../shell/link.tsx';
import { Loading } from '../../shell/loading.tsx';
import { Failure, FailurePage, NotFound, Notice, Page } from '../../shell/page.tsx';
import { useLanguage, useWords } from '../../words/index.ts';
import styles from './editor/editor.module.css';
import { crumbsOf, EditorPage } from './editor/editor-page.tsx';
import { sinceOf } from './facts/since.ts';
import { duplicated } from './form/bodies.ts';
import { newKey } from './new-key.ts';
import { type DraftTarget, isWritable, readSubject, type Subject, targetOf } from './save/subject.ts';
import { findUnfinished, findUnsaved } from './unsaved-changes/finding.ts';
import type { StoredChanges } from './unsaved-changes/newest.ts';

/** The page of a document. */
export function DocumentPage() {
  const { slug = '', id = '' } = useParams();
  const collection = useCollection(slug);
  if (collection === undefined) return <NotFound />;
  return <SubjectPage key={`${slug}/${id}`} subject={{ kind: 'document', collection, id }} />;
}

/** Reads a document or global and its unsaved changes, and opens the form once both are there. */
export function SubjectPage({ subject }: { subject: Subject }) {
  const account = useAccount();
  const { form: words } = useWords();
  const asOf = useAsOf();
  const isReadOnly = asOf !== null || !isWritable(subject);
  const [slug, id] =
    subject.kind === 'global' ? [subject.global.slug, ''] : [subject.collection.slug, subject.id ?? ''];
  const { data, error, refetch } = useRead(
    subject.kind === 'global' ? [...keys.global(slug), 'form'] : [...keys.document(slug, id), 'form'],
    (reading) => readSubject(subject, reading),
    { staysBehindLogin: true },
  );
  const drafts = useDrafts(isReadOnly ? null : targetOf(subject, ''));
  if (data === undefined && error !== null) {
    return (
      <Page
        title={subject.kind === 'global' ? subject.global.label : subject.collection.singular}
        crumbs={crumbsOf(subject)}
      >
        <Failure error={error} again={() => void refetch()} />
      </Page>
    );
  }
  if (data === undefined || drafts === undefined) return <Loading />;
  if (data === null && asOf !== null) return <AbsentPage slug={slug} id={id} crumbs={crumbsOf(subject)} />;
  if (data === null) {
    return (
      <Page title={words.gone} crumbs={crumbsOf(subject)}>
        <Notice icon="search" title={words.goneText} />
      </Page>
    );
  }
  // Another moment needs another form.
  return (
    <EditorPage
      key={`${asOf ?? 'now'} ${drafts.round}`}
      {...{ subject, account, isReadOnly }}
      read={data}
      latest={data}
      prefill={null}
      draftId=""
      found={drafts.found}
      others={drafts.others}
      openOther={drafts.open}
    />
  );
}

/**
 * The unsaved changes of a target, looked for once for each page, and again when the user opens others of them;
 * undefined until they are known.
 */
function useDrafts(target: DraftTarget | null) {
  const account = nameOf(useAccount());
  const [choice, setChoice] = useState<Parameters<typeof findUnsaved>[2]>(null);
  const [round, setRound] = useState(newKey);
  const { data } = useOwnRead(
    ['found', round, target],
    async () => (target === null ? { found: null, others: [] } : findUnsaved(account, target, choice)),
    { gcTime: 0, staleTime: Number.POSITIVE_INFINITY, staysBehindLogin: true },
  );
  const open = ({ form }: StoredChanges, left: string) => {
    setChoice({ wanted: form, left });
    setRound(newKey());
  };
  return data && { ...data, round, open };
}

/** The page of a new document. */
export function CreatePage() {
  const { slug = '' } = useParams();
  const collection = useCollection(slug);
  const [search] = useSearchParams();
  const asOf = useAsOf();
  if (collection === undefined) return <NotFound />;
  const { isAuth, upload, access } = collection;
  if (isAuth || upload || !access.create || asOf !== null) return <NoNew collection={collection} />;
  return <NewDocument key={`${slug}${search.get('from')}`} collection={collection} />;
}

/** Says why the user cannot create a document here. */
function NoNew({ collection: { slug, plural, singular, isAuth, upload } }: { collection: Collection }) {
  const { form: words } = useWords();
  const title = isAuth ? words.invitedOnly : upload ? words.fileNeeded : words.createForbidden;
  return (
    <Page title={words.newDocument(singular)} crumbs={[{ title: plural, to: addresses.list(slug) }]}>
      <Notice icon="info" title={title}>
        {isAuth && <Link to={addresses.people(slug)}>{words.invite}</Link>}
        {upload && <Link to={addresses.media}>{words.toMedia}</Link>}
      </Notice>
    </Page>
  );
}

/** The form of a new document: empty, a copy of another (`?from=`), or with unsaved changes (`?draft=`). */
function NewDocument({ collection }: { collection: Collection }) {
  const account = useAccount();
  const [search, setSearch] = useSearchParams();
  const [from] = useState(() => search.get('from'));
  const [round, setRound] = useState(0);
  const draftId = search.get('draft');
  const [freshId] = useState(() => `new-${newKey()}`);
  const subject: Subject = { kind: 'document', collection, id: null };
  const copied = useRead(
    [...keys.document(collection.slug, from ?? ''), 'copy'],
    (reading) => readSubject({ ...subject, id: from } as Subject, reading),
    { enabled: from !== null, staleTime: Number.POSITIVE_INFINITY },
  );
  const drafts = useDrafts(targetOf(subject, draftId ?? freshId));
  const goOn = (id: string) => {
    setSearch(
      (old) => {
        old.set('draft', id);
        return old;
      },
      { replace: true },
    );
    setRound((old) => old + 1);
  };
  if (copied.error !== null) return <FailurePage error={copied.error} />;
  if (drafts === undefined || (from !== null && copied.data === undefined)) return <Loading />;
  const prefill = copied.data ? duplicated(collection.fields, copied.data.document) : null;
  return (
    <>
      {draftId === null && from === null && <Unfinished collection={collection} goOn={goOn} />}
      <EditorPage
        key={`${round} ${drafts.round}`}
        {...{ subject, account, prefill }}
        found={drafts.found}
        others={drafts.others}
        openOther={drafts.open}
        read={null}
        latest={null}
        draftId={draftId ?? freshId}
        isReadOnly={false}
        onDraft={draftId === null ? () => goOnQuietly(setSearch, freshId) : undefined}
      />
    </>
  );
}

/** Puts the id of the unsaved changes into the address, so that the page finds them after a reload. */
function goOnQuietly(setSearch: ReturnType<typeof useSearchParams>[1], id: string): void {
  setSearch(
    (old) => {
      old.set('draft', id);
      return old;
    },
    { replace: true },
  );
}

/** Offers to continue with a new document that was begun and not saved. */
function Unfinished({ collection, goOn }: { collection: Collection; goOn: (id: string) => void }) {
  const account = nameOf(useAccount());
  const language = useLanguage();
  const { form: words } = useWords();
  const { data } = useOwnRead(
    ['drafts', 'unfinished', collection.slug],
    () => findUnfinished(account, collection.slug),
    {
      gcTime: 0,
    },
  );
  if (data === null || data === undefined) return null;
  return (
    <div className={`${styles.band} ${styles.above}`} role="status" data-draft="unfinished">
      <span>{words.unfinished(sinceOf(data.updatedAt, language, words))}</span>
      <button type="button" onClick={() => goOn(data.id)}>
        {words.goOn}
      </button>
    </div>
  );
}
